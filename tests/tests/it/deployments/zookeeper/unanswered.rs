//! Commands that the ensemble has executed and whose callers have gone before the answer. They are sent
//! again, and nothing may be lost or granted twice by that.

use std::{sync::Arc, time::Duration};

use lock_core::{
    Kind, Mode, Tls,
    store::{
        AcquireCommand, Acquired, ClientId, ConvertCommand, Downgraded, Holder, Holds, LockKey,
        LockStore, Owners, ReleaseCommand, Released, RenewCommand, Renewal,
        connect::ConnectOptions, runtime::Tasks,
    },
};
use lock_tests::{Direction, LIMIT, Proxy, Znodes, ZooKeeperServer, eventually};
use lock_zookeeper::{ConnectPlan, ZooKeeperStore};

const LEASE: Duration = Duration::from_secs(3);
const SESSION: Duration = Duration::from_secs(5);

struct Scene {
    _server: ZooKeeperServer,
    _tasks: Arc<Tasks>,
    proxy: Proxy,
    znodes: Znodes,
    store: ZooKeeperStore,
    owners: Owners,
}

impl Scene {
    async fn start() -> Self {
        let server = ZooKeeperServer::start().await;
        let (proxy, znodes) = (server.proxy().await, server.znodes().await);
        let tasks = Tasks::new();
        let plan = ConnectPlan {
            url: &server.url_through(&proxy),
            options: ConnectOptions { connect_timeout: LIMIT, ..ConnectOptions::default() },
            command_timeout: Some(LIMIT),
            lease: LEASE,
            tls: Tls::new(),
        };
        let store = lock_zookeeper::connect(&plan, &tasks).await.unwrap();
        let owners = Owners::new(ClientId::random());
        Self { _server: server, _tasks: tasks, proxy, znodes, store, owners }
    }

    fn holder(&self, kind: Kind) -> Holder {
        Holder::new(kind, LockKey::try_from("k").unwrap(), self.owners.next())
    }

    async fn acquire(&self, holder: &Holder, mode: Mode, holds: u32) -> Acquired {
        let mut command = AcquireCommand::new(holder.clone(), mode, LEASE);
        command.holds = holds;
        self.store.acquire(command).await.unwrap()
    }

    async fn release(&self, holder: &Holder, mode: Mode) -> Released {
        self.store.release(ReleaseCommand::new(holder.clone(), mode, 0)).await.unwrap()
    }

    async fn renew(&self, holder: &Holder) -> Vec<Renewal> {
        let command = RenewCommand::new(holder.clone(), LEASE);
        self.store.renew(Mode::Read, vec![command]).await.unwrap()
    }

    /// A silence of the link. For a quarter of the session's timeout after it the client does not rely on
    /// the session: what is sent then is executed, and its caller waits for a confirmation.
    async fn silence(&self) {
        self.proxy.black_hole(Direction::Both);
        tokio::time::sleep(SESSION / 2).await;
        self.proxy.pass();
    }

    async fn has_reader(&self) -> bool {
        self.znodes.children("/lock/k").await.iter().any(|name| name.contains("__READ__"))
    }

    /// An owner with a read inside of its write, which it has released; the caller had no answer.
    async fn releases_its_write(&self) -> Holder {
        let holder = self.holder(Kind::ReadWrite);
        assert!(matches!(self.acquire(&holder, Mode::Write, 1).await, Acquired::Granted(Some(_))));
        assert_eq!(self.acquire(&holder, Mode::Read, 1).await, Acquired::Granted(None));
        self.proxy.black_hole(Direction::ToClient);
        drop_once(self.release(&holder, Mode::Write), async || self.has_reader().await).await;
        self.proxy.pass();
        holder
    }
}

/// Drops a command once its effect is there.
async fn drop_once<T>(command: impl Future<Output = T>, effect: impl AsyncFnMut() -> bool) {
    tokio::select! {
        _ = command => {}
        () = eventually("the effect of a command", LIMIT, effect) => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_that_is_sent_again_leaves_the_read_where_it_is() {
    let scene = Scene::start().await;
    let holder = scene.holder(Kind::ReadWrite);
    assert!(matches!(scene.acquire(&holder, Mode::Write, 1).await, Acquired::Granted(Some(_))));
    scene.silence().await;
    let downgrade = async || {
        let after = Holds { read: 1, write: 0 };
        scene.store.downgrade(ConvertCommand::new(holder.clone(), after, LEASE)).await.unwrap()
    };
    let has_reader = async || {
        let has_reader = scene.has_reader().await;
        // The reply to the change has come by then, and the confirmation is awaited.
        tokio::time::sleep(SESSION / 50).await;
        has_reader
    };
    drop_once(downgrade(), has_reader).await;
    assert_eq!(downgrade().await, Downgraded::Done);
    let writer = scene.holder(Kind::ReadWrite);
    let answer = scene.acquire(&writer, Mode::Write, 1).await;
    assert!(matches!(answer, Acquired::Busy { .. }), "beside the reader: {answer:?}");
    assert_eq!(scene.renew(&holder).await, [Renewal::Renewed]);
    assert_eq!(scene.release(&holder, Mode::Read).await, Released::Freed);
    assert_eq!(scene.znodes.ephemerals("/lock").await, [""; 0]);
}

/// In a second turn it would be behind one that waits for its own permit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contender_that_has_its_permit_takes_no_second_turn() {
    let scene = Scene::start().await;
    let [first, second] = [0; 2].map(|_| scene.holder(Kind::Semaphore));
    let waits_for_permit = async |holder: &Holder| {
        let mut command = AcquireCommand::new(holder.clone(), Mode::Write, LEASE);
        command.place = Some(LEASE);
        scene.store.acquire(command).await.unwrap()
    };
    scene.silence().await;
    let has_permit = async || {
        scene.znodes.children("/lock/k/leases").await.len() == 1
            && scene.znodes.children("/lock/k/locks").await.is_empty()
    };
    drop_once(waits_for_permit(&first), has_permit).await;
    let answer = waits_for_permit(&second).await;
    assert!(matches!(answer, Acquired::Busy { .. }), "{answer:?}");
    assert_eq!(waits_for_permit(&first).await, Acquired::Granted(None));
    assert_eq!(scene.release(&first, Mode::Write).await, Released::Freed);
    assert_eq!(waits_for_permit(&second).await, Acquired::Granted(None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_has_taken_the_place_of_its_write_is_renewed_and_entered_again() {
    let scene = Scene::start().await;
    let holder = scene.releases_its_write().await;
    assert_eq!(scene.renew(&holder).await, [Renewal::Renewed]);
    assert_eq!(scene.acquire(&holder, Mode::Read, 2).await, Acquired::Granted(None));
    assert_eq!(scene.release(&holder, Mode::Write).await, Released::StillHeld);
    assert_eq!(scene.renew(&holder).await, [Renewal::Renewed]);
    scene.release(&holder, Mode::Read).await;
    assert_eq!(scene.znodes.ephemerals("/lock").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_has_become_a_read_is_not_entered_again_and_leaves_no_znode() {
    let scene = Scene::start().await;
    let holder = scene.releases_its_write().await;
    assert_eq!(scene.acquire(&holder, Mode::Write, 2).await, Acquired::Lost);
    let free = async || scene.znodes.ephemerals("/lock").await.is_empty();
    eventually("no znode", LIMIT, free).await;
}
