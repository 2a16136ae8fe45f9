//! The locks of a client: one method per kind of lock.

use lock_store::{IntoLockKey, Kind, Mode};

use super::{
    LockClient,
    acquire::Acquire,
    lockable::SingleLock,
    multi_lock::{Member, MultiLock},
    semaphore::Semaphore,
};

impl LockClient {
    /// Prepares to acquire the read lock on `key`: shared with other readers, never with a writer.
    #[track_caller]
    pub fn read(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::ReadWrite, Mode::Read, key)
    }

    /// Prepares to acquire the write lock on `key`: exclusive.
    #[track_caller]
    pub fn write(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::ReadWrite, Mode::Write, key)
    }

    /// Prepares to acquire the read/write lock on `key` in a mode that is known at run time only.
    #[track_caller]
    pub fn lock(&self, mode: Mode, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::ReadWrite, mode, key)
    }

    /// Prepares to acquire the [fair](Kind::FairReadWrite) read lock on `key`: shared with other
    /// readers, in order of arrival, so behind every writer that came before.
    #[track_caller]
    pub fn fair_read(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::FairReadWrite, Mode::Read, key)
    }

    /// Prepares to acquire the [fair](Kind::FairReadWrite) write lock on `key`: exclusive, in order
    /// of arrival.
    #[track_caller]
    pub fn fair_write(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::FairReadWrite, Mode::Write, key)
    }

    /// Prepares to acquire the [reentrant](Kind::Reentrant) lock on `key`: Redisson's `getLock`.
    #[track_caller]
    pub fn reentrant(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::Reentrant, Mode::Write, key)
    }

    /// Prepares to acquire the [non-reentrant](Kind::NonReentrant) lock on `key`: a scope that
    /// holds it is refused at once.
    #[track_caller]
    pub fn non_reentrant(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::NonReentrant, Mode::Write, key)
    }

    /// Prepares to acquire the [fair](Kind::Fair) lock on `key`: Redisson's `getFairLock`.
    #[track_caller]
    pub fn fair(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::Fair, Mode::Write, key)
    }

    /// Prepares to acquire the [fenced](Kind::Fenced) lock on `key`: Redisson's `getFencedLock`.
    #[track_caller]
    pub fn fenced(&self, key: impl IntoLockKey) -> Acquire {
        self.single(Kind::Fenced, Mode::Write, key)
    }

    /// Prepares to acquire several locks at once, all or nothing.
    ///
    /// Where possible, one command of the store acquires them all: always in memory and on one
    /// server, in a cluster if their keys share a hash tag. While one of them is waited for, other
    /// processes can then acquire the rest. Other acquisitions of this process queue behind it, at
    /// every key that it has reached. Otherwise the locks are acquired in the order of their keys,
    /// whatever order they are given in. Either way two such acquisitions never wait for each
    /// other. Wait, lease, renewal and `max_hold` are those of the whole; the members' own do not
    /// count.
    ///
    /// Members may be of other clients, and so on other stores: Redisson's multi-lock over several
    /// servers. Those of one client are taken as above. Nothing is held while another client's are waited
    /// for, and a lock that is lost ends them all.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let both = locks.multi_lock([locks.write("account:1"), locks.write("account:2")]);
    /// let guard = both.acquire().await?;
    /// // ... move money from one to the other ...
    /// guard.release().await?;
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn multi_lock<M: Into<Member>>(
        &self,
        members: impl IntoIterator<Item = M>,
    ) -> Acquire<MultiLock> {
        Acquire::new(MultiLock::new(self, members.into_iter().map(|member| member.into().0)))
    }

    /// Returns a semaphore of `permits` permits under `key`: Redisson's
    /// `getPermitExpirableSemaphore`.
    ///
    /// The number is this client's: a permit is granted if those in use and those that are acquired
    /// fit into it. Clients may give different numbers, as replicas of two versions do. On
    /// Redisson's wire the first acquisition sets the number, and [`Semaphore::set_permits`]
    /// changes it. A client that gives another number logs that once, and [`health`](Self::health)
    /// warns of it.
    #[must_use]
    pub fn semaphore(&self, key: impl IntoLockKey, permits: u32) -> Semaphore {
        Semaphore::new(self, key.into_lock_key(), permits)
    }

    #[track_caller]
    fn single(&self, kind: Kind, mode: Mode, key: impl IntoLockKey) -> Acquire {
        let (client, key) = (self.clone(), key.into_lock_key());
        Acquire::new(SingleLock { client, kind, key, mode, permits: 0, wanted_permits: 1 })
    }
}
