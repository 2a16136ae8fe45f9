//! In which order the writer sends commands, at a server of a test.

use std::{sync::Arc, time::Duration};

use futures_util::{future::join3, poll};
use lock_store::{
    AcquireCommand, ClientId, Holder, Kind, LeaveCommand, LockKey, Mode, Owners, ReleaseCommand,
    runtime::Tasks,
};
use tokio::time::Instant;

use super::{NativeWire, Writer};
use crate::redis::recent_keys::RecentKeys;
use crate::redis::{
    connect::{RedisOptions, fake_server::FakeServer},
    connection::{ClientName, ManagedConnection},
    discovery::Fixed,
    dispatcher::{Dispatcher, Topology},
};

/// A writer to a server of the test, and a try at `first` that was sent alone and is not answered
/// yet: later commands are queued.
struct World {
    fake: FakeServer,
    writer: Writer,
    owners: Owners,
}

impl World {
    async fn start() -> Self {
        // Any reply will do: only the order of arrival counts.
        let fake = FakeServer::start(|_| Some("-ERR no\r\n".to_owned())).await;
        let client = ClientId::random();
        let name = Arc::new(ClientName::new(&RedisOptions::default(), &client));
        let discovery = Box::new(Fixed(Arc::new(fake.server())));
        let managed = Arc::new(ManagedConnection::new(discovery, name, None));
        tokio::spawn(Arc::clone(&managed).supervise());
        let (_, connection) = managed.connected().await;
        let dispatcher = Dispatcher::new(Topology::Single(managed), None, Duration::from_secs(20));
        let wire = Arc::new(NativeWire::new(String::new(), &client, false, false));
        // Tries need no script before them.
        wire.counter(0).raised(&connection, Instant::now());
        let refusals = Arc::new(RecentKeys::new());
        let writer = Writer::start(wire, Arc::new(dispatcher), refusals, &Tasks::new());
        Self { fake, writer, owners: Owners::new(client) }
    }

    fn holder(&self, key: &str) -> Holder {
        let key = LockKey::try_from(key).expect("a key");
        Holder { kind: Kind::Fair, key, owner: self.owners.next() }
    }

    /// The place of the first command that begins so and names this owner.
    fn arrived(&self, verb: &str, holder: &Holder) -> Option<usize> {
        let owner = holder.owner.to_string();
        let is_it = |command: &String| command.starts_with(verb) && command.contains(&owner);
        self.fake.commands().iter().position(is_it)
    }

    /// Queues a try behind one that is under way, then its undo, and returns when both are answered. The
    /// caller of the try goes before its undo, or never.
    async fn undo_queued(&self, undo: impl AsyncFnOnce(Holder), caller_goes: bool) -> Holder {
        let command = |holder: &Holder| {
            AcquireCommand::new(holder.clone(), Mode::Write, Duration::from_secs(1))
        };
        let (first, holder) = (command(&self.holder("first")), self.holder("second"));
        let second = command(&holder);
        let mut alone = Box::pin(self.writer.try_free(&first));
        assert!(poll!(&mut alone).is_pending());
        let mut queued = Some(Box::pin(self.writer.try_free(&second)));
        assert!(poll!(queued.as_mut().expect("it is there")).is_pending());
        if caller_goes {
            queued = None;
        }
        let mut undo = Box::pin(undo(holder.clone()));
        assert!(poll!(&mut undo).is_pending());
        let queued = async {
            if let Some(queued) = queued {
                queued.await;
            }
        };
        join3(alone, queued, undo).await;
        holder
    }

    fn assert_behind(&self, holder: &Holder) {
        let (tried, undone) = (self.arrived("SET", holder), self.arrived("EVALSHA", holder));
        let commands = self.fake.commands();
        assert!(undone.is_some(), "it was not undone: {commands:#?}");
        assert!(tried < undone, "the undo came first: {commands:#?}");
    }
}

#[tokio::test]
async fn a_release_is_sent_behind_the_queued_try_that_it_undoes() {
    for caller_goes in [false, true] {
        let world = World::start().await;
        let release = async |holder| {
            let _ =
                world.writer.release_all(vec![ReleaseCommand::new(holder, Mode::Write, 0)]).await;
        };
        let holder = world.undo_queued(release, caller_goes).await;
        world.assert_behind(&holder);
    }
}

#[tokio::test]
async fn a_waiter_leaves_behind_its_queued_try() {
    for caller_goes in [false, true] {
        let world = World::start().await;
        let leave = async |Holder { kind, key, owner }: Holder| {
            let leave = LeaveCommand::new(kind, key, vec![(owner, Mode::Write)]);
            let _ = world.writer.leave(leave).await;
        };
        let holder = world.undo_queued(leave, caller_goes).await;
        world.assert_behind(&holder);
    }
}
