//! The commands of a store one by one: each may be sent again, and late ones change nothing.

use std::{sync::Arc, time::Duration};

use lock_core::{
    Kind, LockClient, LockKey, Mode,
    store::{
        AcquireCommand, Acquired, Holder, LockStore, ReleaseCommand, Released, RenewCommand,
        Renewal, TransferCommand, Transferred,
    },
    test_util::{next_owner, store_of},
};

use super::store_under_test::{LONG, StoreUnderTest, soon, written};
use crate::{LIMIT, eventually};

/// A client's store, and its owners.
struct Store {
    client: LockClient,
    store: Arc<dyn LockStore>,
}

impl Store {
    async fn of(world: &StoreUnderTest) -> Self {
        let client = world.client().await;
        let store = store_of(&client);
        Self { client, store }
    }

    fn owner(&self, kind: Kind) -> Holder {
        self.owner_of(kind, LockKey::try_from("k").unwrap())
    }

    fn owner_of(&self, kind: Kind, key: LockKey) -> Holder {
        Holder::new(kind, key, next_owner(&self.client))
    }

    /// Keys whose locks are in one part of the store.
    fn keys_of_one_shard<const N: usize>(&self) -> [LockKey; N] {
        let keys = (0..).map(|number| LockKey::try_from(format!("k{number}")).unwrap());
        let mut keys = keys.filter(|key| self.store.shard(key) == 0);
        std::array::from_fn(|_| keys.next().unwrap())
    }

    async fn acquire(&self, holder: &Holder, mode: Mode, holds: u32, lease: Duration) -> Acquired {
        let mut command = AcquireCommand::new(holder.clone(), mode, lease);
        command.holds = holds;
        self.store.acquire(command).await.unwrap()
    }

    async fn write(&self, holder: &Holder, holds: u32) -> Acquired {
        self.acquire(holder, Mode::Write, holds, LONG).await
    }

    async fn release(&self, holder: &Holder, mode: Mode, holds: u32) -> Released {
        self.store.release(ReleaseCommand::new(holder.clone(), mode, holds)).await.unwrap()
    }

    async fn renew(&self, holder: &Holder, mode: Mode, lease: Duration) -> Renewal {
        let renewed = self.store.renew(mode, vec![RenewCommand::new(holder.clone(), lease)]).await;
        renewed.unwrap().swap_remove(0)
    }

    async fn set_lease(&self, holder: &Holder, mode: Mode, lease: Duration) -> Renewal {
        let command = RenewCommand::exactly(holder.clone(), lease);
        self.store.renew(mode, vec![command]).await.unwrap().swap_remove(0)
    }

    async fn transfer(&self, holder: &Holder, mode: Mode, to: &Holder) -> Transferred {
        let command = TransferCommand::new(holder.clone(), mode, to.owner.clone());
        self.store.transfer(command).await.unwrap()
    }
}

fn busy(answer: Acquired) -> bool {
    matches!(answer, Acquired::Busy { .. })
}

pub(super) async fn a_repeated_command_counts_once(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        let (one, other) = (store.owner(kind), store.owner(kind));
        for _ in 0..2 {
            let outermost = store.write(&one, 1).await;
            assert!(matches!(outermost, Acquired::Granted(Some(_))), "{kind}: {outermost:?}");
            assert!(busy(store.write(&other, 1).await), "{kind}");
        }
        for _ in 0..2 {
            assert_eq!(store.write(&one, 2).await, Acquired::Granted(None), "{kind}: re-entry");
        }
        for _ in 0..2 {
            let left = store.release(&one, Mode::Write, 1).await;
            assert_eq!(left, Released::StillHeld, "{kind}");
            assert!(busy(store.write(&other, 1).await), "{kind}");
        }
        assert_eq!(store.release(&one, Mode::Write, 0).await, Released::Freed, "{kind}");
        assert_eq!(store.release(&one, Mode::Write, 0).await, Released::Gone, "{kind}");
    }
}

pub(super) async fn a_command_of_a_former_owner_changes_nothing(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        let (former, owner) = (store.owner(kind), store.owner(kind));
        store.write(&former, 1).await;
        store.release(&former, Mode::Write, 0).await;
        assert!(matches!(store.write(&owner, 1).await, Acquired::Granted(_)), "{kind}");
        assert_eq!(store.release(&former, Mode::Write, 0).await, Released::Gone, "{kind}");
        assert_eq!(store.renew(&former, Mode::Write, LONG).await, Renewal::Lost, "{kind}");
        assert_eq!(store.write(&former, 2).await, Acquired::Lost, "{kind}: re-entry");
        assert!(busy(store.write(&former, 1).await), "{kind}");
        assert_eq!(store.renew(&owner, Mode::Write, LONG).await, Renewal::Renewed, "{kind}");
        assert_eq!(store.release(&owner, Mode::Write, 0).await, Released::Freed, "{kind}");
    }
}

pub(super) async fn re_entry_without_an_outer_hold_leaves_nothing(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        let (one, other) = (store.owner(kind), store.owner(kind));
        assert_eq!(store.write(&one, 2).await, Acquired::Lost, "{kind}");
        assert!(matches!(store.write(&other, 1).await, Acquired::Granted(_)), "{kind}");
        store.release(&other, Mode::Write, 0).await;
    }
}

pub(super) async fn releases_of_one_moment_have_an_answer_each(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    let there = world.client().await;
    for kind in world.locks() {
        let keys = store.keys_of_one_shard();
        let [free, twice, awaited] = keys.map(|key| store.owner_of(kind, key));
        for (holder, holds) in [(&free, 1), (&twice, 1), (&twice, 2), (&awaited, 1)] {
            let granted = store.write(holder, holds).await;
            assert!(matches!(granted, Acquired::Granted(_)), "{kind}: {granted:?}");
        }
        let waiter = written(&there, kind, awaited.key.as_str()).wait(LONG).acquire();
        let waiter = tokio::spawn(waiter);
        let former = store.owner_of(kind, free.key.clone());
        let releases = || {
            let releases = [(&former, 0), (&free, 0), (&twice, 1), (&awaited, 0)];
            let command = |(holder, holds): (&Holder, _)| {
                ReleaseCommand::new(holder.clone(), Mode::Write, holds)
            };
            releases.map(command).to_vec()
        };
        use Released::{Freed, Gone, StillHeld};
        for answers in [[Gone, Freed, StillHeld, Freed], [Gone, Gone, StillHeld, Gone]] {
            let released: Vec<_> = store.store.release_all(releases()).await;
            let released: Vec<_> = released.into_iter().map(Result::unwrap).collect();
            assert_eq!(released, answers, "{kind}");
        }
        soon(waiter).await.unwrap().unwrap().release().await.unwrap();
        assert_eq!(store.release(&twice, Mode::Write, 0).await, Freed, "{kind}");
        assert!(store.store.release_all(Vec::new()).await.is_empty());
    }
}

pub(super) async fn no_command_shortens_a_lease(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        let (one, other) = (store.owner(kind), store.owner(kind));
        let short = world.short() / 10;
        store.write(&one, 1).await;
        store.acquire(&one, Mode::Write, 1, short).await;
        store.acquire(&one, Mode::Write, 2, short).await;
        assert_eq!(store.renew(&one, Mode::Write, short).await, Renewal::Renewed, "{kind}");
        store.release(&one, Mode::Write, 1).await;
        tokio::time::sleep(short * 2).await;
        assert!(busy(store.write(&other, 1).await), "{kind}");
        assert_eq!(store.release(&one, Mode::Write, 0).await, Released::Freed, "{kind}");
    }
}

pub(super) async fn a_lease_is_set_exactly(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        let short = world.short() / 10;
        let modes =
            if kind.has_readers() { &[Mode::Write, Mode::Read][..] } else { &[Mode::Write] };
        for mode in modes {
            let (one, other) = (store.owner(kind), store.owner(kind));
            assert_eq!(store.set_lease(&one, *mode, LONG).await, Renewal::Lost, "{kind}");
            store.acquire(&one, *mode, 1, LONG).await;
            assert_eq!(store.set_lease(&one, *mode, short).await, Renewal::Renewed, "{kind}");
            let freed = async || !busy(store.write(&other, 1).await);
            eventually("it ends", LIMIT, freed).await;
            assert_eq!(store.set_lease(&one, *mode, LONG).await, Renewal::Lost, "{kind}");
            // It lengthens too.
            store.set_lease(&other, Mode::Write, short).await;
            assert_eq!(
                store.set_lease(&other, Mode::Write, LONG).await,
                Renewal::Renewed,
                "{kind}"
            );
            tokio::time::sleep(short * 2).await;
            assert!(busy(store.write(&store.owner(kind), 1).await), "{kind}");
            assert_eq!(store.release(&other, Mode::Write, 0).await, Released::Freed, "{kind}");
        }
    }
}

/// The client gives them to waiters of the same process.
pub(super) async fn reserved_tokens_are_given_to_no_other_owner(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks().into_iter().filter(|kind| !kind.is_fair()) {
        let (one, other) = (store.owner(kind), store.owner(kind));
        let mut command = AcquireCommand::new(one.clone(), Mode::Write, LONG);
        command.reserved_tokens = 5;
        let granted = store.store.acquire(command).await.unwrap();
        let Acquired::Granted(Some(token)) = granted else { panic!("{kind}: {granted:?}") };
        store.release(&one, Mode::Write, 0).await;
        let granted = store.write(&other, 1).await;
        let Acquired::Granted(Some(next)) = granted else { panic!("{kind}: {granted:?}") };
        assert!(next.get() > token.get() + 5, "{kind}: {next} after {token} and five more");
        store.release(&other, Mode::Write, 0).await;
    }
}

pub(super) async fn readers_are_counted_one_by_one(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    let (one, two) = (store.owner(Kind::ReadWrite), store.owner(Kind::ReadWrite));
    let writer = store.owner(Kind::ReadWrite);
    for reader in [&one, &two, &one] {
        let granted = store.acquire(reader, Mode::Read, 1, LONG).await;
        assert!(matches!(granted, Acquired::Granted(Some(_))), "{granted:?}");
    }
    assert_eq!(store.release(&one, Mode::Read, 0).await, Released::StillHeld);
    assert_eq!(store.release(&one, Mode::Read, 0).await, Released::Gone);
    assert!(busy(store.write(&writer, 1).await));
    assert_eq!(store.release(&two, Mode::Read, 0).await, Released::Freed);
    assert!(matches!(store.write(&writer, 1).await, Acquired::Granted(_)));
}

/// A reader waits for the writers that came before it, not for other readers or for a later writer.
pub(super) async fn readers_before_a_writer_enter_in_any_order(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    let owner = || store.owner(Kind::FairReadWrite);
    let (holder, first, second, writer) = (owner(), owner(), owner(), owner());
    let wait = async |waiter: &Holder, mode| {
        let mut command = AcquireCommand::new(waiter.clone(), mode, LONG);
        command.place = Some(LONG);
        store.store.acquire(command).await.unwrap()
    };
    assert!(matches!(store.write(&holder, 1).await, Acquired::Granted(_)));
    for (waiter, mode) in [(&first, Mode::Read), (&second, Mode::Read), (&writer, Mode::Write)] {
        assert!(busy(wait(waiter, mode).await));
    }
    assert_eq!(store.release(&holder, Mode::Write, 0).await, Released::Freed);
    for reader in [&second, &first] {
        let entered = wait(reader, Mode::Read).await;
        assert!(matches!(entered, Acquired::Granted(_)), "{entered:?}");
        assert!(busy(wait(&writer, Mode::Write).await));
    }
    store.release(&first, Mode::Read, 0).await;
    assert_eq!(store.release(&second, Mode::Read, 0).await, Released::Freed);
    assert!(matches!(wait(&writer, Mode::Write).await, Acquired::Granted(_)));
    assert_eq!(store.release(&writer, Mode::Write, 0).await, Released::Freed);
}

/// The modes of a kind.
fn modes(kind: Kind) -> impl Iterator<Item = Mode> {
    [Mode::Write, Mode::Read].into_iter().filter(move |mode| kind.supports(*mode))
}

pub(super) async fn a_repeated_transfer_counts_once(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        for mode in modes(kind) {
            let owners = [(); 4].map(|()| store.owner(kind));
            let [from, to, late, other] = &owners;
            store.acquire(from, mode, 1, LONG).await;
            for _ in 0..2 {
                assert_eq!(
                    store.transfer(from, mode, to).await,
                    Transferred::Done,
                    "{kind} {mode}"
                );
            }
            assert_eq!(store.transfer(from, mode, late).await, Transferred::Gone, "{kind} {mode}");
            assert_eq!(store.renew(from, mode, LONG).await, Renewal::Lost, "{kind} {mode}");
            assert_eq!(store.release(from, mode, 0).await, Released::Gone, "{kind} {mode}");
            assert!(busy(store.write(other, 1).await), "{kind} {mode}");
            assert_eq!(store.renew(to, mode, LONG).await, Renewal::Renewed, "{kind} {mode}");
            assert_eq!(store.release(to, mode, 0).await, Released::Freed, "{kind} {mode}");
            assert_eq!(store.transfer(from, mode, to).await, Transferred::Gone, "{kind} {mode}");
        }
    }
}

pub(super) async fn a_transfer_of_what_is_not_the_only_hold_changes_nothing(world: StoreUnderTest) {
    let store = Store::of(&world).await;
    for kind in world.locks() {
        let (from, to, other) = (store.owner(kind), store.owner(kind), store.owner(kind));
        let gone = async |mode| store.transfer(&from, mode, &to).await == Transferred::Gone;
        assert!(gone(Mode::Write).await, "{kind}: nothing is there");
        store.write(&other, 1).await;
        assert!(gone(Mode::Write).await, "{kind}: another owner has it");
        store.release(&other, Mode::Write, 0).await;
        store.write(&from, 1).await;
        store.write(&from, 2).await;
        assert!(gone(Mode::Write).await, "{kind}: two holds");
        store.release(&from, Mode::Write, 1).await;
        if kind.has_readers() {
            assert!(gone(Mode::Read).await, "{kind}: it writes");
            store.acquire(&from, Mode::Read, 1, LONG).await;
            assert!(gone(Mode::Read).await && gone(Mode::Write).await, "{kind}: both modes");
            store.release(&from, Mode::Read, 0).await;
        }
        assert_eq!(store.renew(&to, Mode::Write, LONG).await, Renewal::Lost, "{kind}");
        assert_eq!(store.transfer(&from, Mode::Write, &to).await, Transferred::Done, "{kind}");
        assert_eq!(store.release(&to, Mode::Write, 0).await, Released::Freed, "{kind}");
    }
}
