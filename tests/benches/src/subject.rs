//! What is compared: everything that can be taken and given back.

mod async_redis_lock;
mod distkit;
mod granted_by_hand;
mod mutex;
pub(crate) mod ours;
mod ping;
mod rslock;
mod zookeeper_recipe;

use clap::ValueEnum;
use lock_figures::{HandRolled, HashHeld, LEASE, RedissonsHash};

use self::{
    async_redis_lock::AsyncRedisLock, distkit::Distkit, granted_by_hand::GrantedByHand,
    mutex::OneProcess, ours::Ours, ping::Ping, rslock::Rslock, zookeeper_recipe::ZooKeeperRecipe,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Name {
    Ping,
    Mutex,
    HandRolled,
    HandRolledAwaited,
    RedissonsHash,
    HashAndToken,
    GrantedByHand,
    Rslock,
    AsyncRedisLock,
    AsyncRedisLockDropped,
    DistkitWrite,
    DistkitRead,
    #[value(name = "zookeeper_recipe")]
    ZooKeeperRecipe,
    Lock,
    Write,
    Read,
    RedissonsWire,
}

impl Name {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Ping => "PING (one round trip)",
            Self::Mutex => "Tokio's Mutex, no store at all",
            Self::HandRolled => "hand-rolled SET NX PX, release not awaited",
            Self::HandRolledAwaited => "hand-rolled, release awaited",
            Self::RedissonsHash => "Redisson's hash by hand, release not awaited",
            Self::HashAndToken => "the same with a fencing token",
            Self::GrantedByHand => "granted by hand: no lease, no token, none may leave",
            Self::Rslock => "rslock",
            Self::AsyncRedisLock => "async-redis-lock",
            Self::AsyncRedisLockDropped => "async-redis-lock, guard dropped",
            Self::DistkitWrite => "distkit write",
            Self::DistkitRead => "distkit read",
            Self::ZooKeeperRecipe => "zookeeper-client's recipe, release not awaited",
            Self::Lock => "**lock-tower, lock**",
            Self::Write => "**lock-tower, write**",
            Self::Read => "**lock-tower, read**",
            Self::RedissonsWire => "**lock-tower, Redisson's wire**",
        }
    }

    /// Commands that this sends although scripts of its kind may call them; those of these that its
    /// own scripts call are none.
    pub(crate) fn sends(self) -> &'static [&'static str] {
        match self {
            Self::HandRolled | Self::HandRolledAwaited | Self::Rslock => &["set"],
            // Its release.
            Self::DistkitRead => &["zrem"],
            _ => &[],
        }
    }

    /// The same where no lock is waited for. A GET instead of an MGET is not counted: scripts call it too.
    pub(crate) fn sends_for_a_free_lock(self) -> &'static [&'static str] {
        match self {
            Self::Lock | Self::Write | Self::Read => &["set", "incrby", "mget"],
            _ => self.sends(),
        }
    }

    pub(crate) async fn connect(self, url: &str) -> Subject {
        match self {
            Self::Ping => Subject::Ping(Ping::connect(url).await),
            Self::Mutex => Subject::Mutex(OneProcess::default()),
            Self::HandRolled => Subject::HandRolled(HandRolled::connect(url, false).await),
            Self::HandRolledAwaited => Subject::HandRolled(HandRolled::connect(url, true).await),
            Self::RedissonsHash => {
                Subject::RedissonsHash(RedissonsHash::connect(url, false, false).await)
            }
            Self::HashAndToken => {
                Subject::RedissonsHash(RedissonsHash::connect(url, true, false).await)
            }
            Self::GrantedByHand => Subject::GrantedByHand(GrantedByHand::connect(url).await),
            Self::Rslock => Subject::Rslock(Rslock::connect(url)),
            Self::AsyncRedisLock => {
                Subject::AsyncRedisLock(AsyncRedisLock::connect(url, false).await)
            }
            Self::AsyncRedisLockDropped => {
                Subject::AsyncRedisLock(AsyncRedisLock::connect(url, true).await)
            }
            Self::DistkitWrite => Subject::Distkit(Distkit::connect(url, false).await),
            Self::DistkitRead => Subject::Distkit(Distkit::connect(url, true).await),
            Self::ZooKeeperRecipe => Subject::ZooKeeperRecipe(ZooKeeperRecipe::connect(url).await),
            Self::Lock | Self::Write | Self::Read | Self::RedissonsWire => {
                Subject::Ours(Ours::connect(url, self).await)
            }
        }
    }
}

/// A client, connected.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would cost the large one an allocation that is not its own"
)]
pub(crate) enum Subject {
    Ping(Ping),
    Mutex(OneProcess),
    HandRolled(HandRolled),
    RedissonsHash(RedissonsHash),
    GrantedByHand(GrantedByHand),
    Rslock(Rslock),
    AsyncRedisLock(AsyncRedisLock),
    Distkit(Distkit),
    ZooKeeperRecipe(ZooKeeperRecipe),
    Ours(Ours),
}

/// What was taken.
pub(crate) enum Held {
    Nothing,
    Mutex(tokio::sync::OwnedMutexGuard<()>),
    HandRolled(lock_figures::Held),
    RedissonsHash(HashHeld),
    GrantedByHand(granted_by_hand::Held),
    Rslock(::rslock::LockGuard),
    AsyncRedisLock(::async_redis_lock::Lock),
    Distkit(distkit::Held),
    ZooKeeperRecipe(zookeeper_client::OwnedLockClient),
    Ours(lock_core::LockGuard),
}

impl Subject {
    /// Waits for as long as it takes.
    pub(crate) async fn take(&self, key: &str) -> Held {
        match self {
            Self::Ping(ping) => {
                ping.ask().await;
                Held::Nothing
            }
            Self::Mutex(mutex) => Held::Mutex(mutex.take().await),
            Self::HandRolled(locks) => Held::HandRolled(locks.take(key).await),
            Self::RedissonsHash(locks) => Held::RedissonsHash(locks.take(key).await),
            Self::GrantedByHand(locks) => Held::GrantedByHand(locks.take(key).await),
            Self::Rslock(locks) => Held::Rslock(locks.take(key).await),
            Self::AsyncRedisLock(locks) => Held::AsyncRedisLock(locks.take(key).await),
            Self::Distkit(locks) => Held::Distkit(locks.take(key).await),
            Self::ZooKeeperRecipe(locks) => Held::ZooKeeperRecipe(locks.take(key).await),
            Self::Ours(locks) => Held::Ours(locks.take(key).await),
        }
    }

    /// As the subject's users do it: awaited where the subject has it so.
    pub(crate) async fn give_back(&self, held: Held) {
        match (self, held) {
            (Self::HandRolled(locks), Held::HandRolled(held)) => locks.give_back(held).await,
            (Self::RedissonsHash(locks), Held::RedissonsHash(held)) => locks.give_back(held).await,
            (Self::GrantedByHand(locks), Held::GrantedByHand(held)) => locks.give_back(held),
            (Self::AsyncRedisLock(locks), Held::AsyncRedisLock(held)) => {
                locks.give_back(held).await;
            }
            (_, Held::Rslock(held)) => held.release().await,
            (_, Held::Distkit(held)) => held.give_back().await,
            (_, Held::ZooKeeperRecipe(lock)) => drop(lock),
            (_, Held::Ours(guard)) => drop(guard),
            (_, Held::Mutex(guard)) => drop(guard),
            (_, Held::Nothing) => {}
            (
                _,
                Held::HandRolled(_)
                | Held::RedissonsHash(_)
                | Held::GrantedByHand(_)
                | Held::AsyncRedisLock(_),
            ) => panic!("BUG: held by another subject"),
        }
    }

    /// Returns when Redis has executed the release. `settled` would do, but sends commands.
    pub(crate) async fn give_back_awaited(&self, held: Held) {
        match held {
            Held::Ours(guard) => guard.release().await.expect("a release"),
            held => {
                self.give_back(held).await;
                self.settled().await;
            }
        }
    }

    /// When nothing that was given back is on its way any more, as far as the subject can tell.
    pub(crate) async fn settled(&self) {
        match self {
            Self::HandRolled(locks) => locks.settled().await,
            Self::RedissonsHash(locks) => locks.settled().await,
            Self::GrantedByHand(locks) => locks.settled().await,
            Self::Ours(locks) => locks.settled().await,
            Self::Ping(_)
            | Self::Mutex(_)
            | Self::Rslock(_)
            | Self::AsyncRedisLock(_)
            | Self::Distkit(_)
            | Self::ZooKeeperRecipe(_) => {}
        }
    }
}
