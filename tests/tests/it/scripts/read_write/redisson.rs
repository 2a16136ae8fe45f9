//! The same state as Redisson leaves after the same steps.
//!
//! Where ours differs on purpose, `docs/redisson.md` gives the reason.

use crate::scripts::support::call::{
    Call, LEASE, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::keys::{LOCK, TOKEN, difference, within};
use crate::scripts::support::redisson::Java;
use crate::scripts::support::store::Store;

/// A step of the owner `a:1`, with the holds of that mode that it has afterwards.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u32),
    Write(u32),
    ReleaseRead(u32),
    ReleaseWrite(u32),
}
use Step::{Read, ReleaseRead, ReleaseWrite, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Same,
    /// Redisson adds the lease to what is left; ours is the longer of the two.
    LeasesNotAdded,
    /// Redisson publishes nothing when a write becomes a read.
    ReadersTold,
}
use Beside::{LeasesNotAdded, ReadersTold, Same};

impl Step {
    fn ours(self) -> Call {
        match self {
            Read(holds) => acquire_read("a:1", holds),
            Write(holds) => acquire_write("a:1", holds),
            ReleaseRead(holds) => release_read("a:1", holds),
            ReleaseWrite(holds) => release_write("a:1", holds),
        }
    }

    /// With the reply that Redisson takes for success.
    fn javas(self) -> (Java, Option<i64>) {
        let freed = |holds| Some(i64::from(holds == 0));
        match self {
            Read(_) => (Java::Read, None),
            Write(_) => (Java::Write, None),
            // Inside a write the last read frees nothing either.
            ReleaseRead(_) => (Java::UnlockRead, None),
            ReleaseWrite(holds) => (Java::UnlockWrite, freed(holds)),
        }
    }
}

async fn walk(steps: &[(Step, Beside)]) {
    let (mut ours, mut javas) = tokio::join!(Store::start(), Store::start());
    for (step, beside) in steps {
        let status = ours.ask(&step.ours()).await.remove(0);
        assert!(["GRANTED", "FREED", "RELEASED"].contains(&status.as_str()), "{step:?}: {status}");
        let (java, success) = step.javas();
        let reply = java.ask(&javas, "a:1").await;
        let unlocked = matches!(java, Java::UnlockRead) && reply.is_some();
        assert!(unlocked || reply == success, "{step:?}: {reply:?}");

        let (mut expected, mut found) = (javas.keys().await, ours.keys().await);
        found.retain(|key| key.name != TOKEN);
        for key in expected.iter_mut().chain(&mut found) {
            let added = key.name == LOCK && *beside == LeasesNotAdded && !within(key.ttl, LEASE);
            assert!(within(key.ttl, if added { 2 * LEASE } else { LEASE }), "{step:?}: {key:?}");
            key.ttl = 0;
        }
        assert_eq!(difference(&expected, &found), None, "{step:?}");
        let mut reported = javas.reported().await;
        if *beside == ReadersTold {
            assert!(reported.is_empty());
            reported.push("1".to_owned());
        }
        assert_eq!(ours.reported().await, reported, "{step:?}");
    }
    assert!(javas.keys().await.is_empty(), "a walk ends free");
}

#[tokio::test]
async fn reads_leave_the_same() {
    walk(&[
        (Read(1), Same),
        (Read(2), Same),
        (Read(3), Same),
        (ReleaseRead(2), Same),
        (ReleaseRead(1), Same),
        (ReleaseRead(0), Same),
    ])
    .await;
}

#[tokio::test]
async fn writes_leave_the_same() {
    walk(&[
        (Write(1), Same),
        (Write(2), LeasesNotAdded),
        (ReleaseWrite(1), Same),
        (ReleaseWrite(0), Same),
    ])
    .await;
}

#[tokio::test]
async fn a_read_inside_a_write_leaves_the_same() {
    walk(&[
        (Write(1), Same),
        (Read(1), Same),
        (Read(2), Same),
        (ReleaseRead(1), Same),
        (ReleaseRead(0), Same),
        (ReleaseWrite(0), Same),
    ])
    .await;
}

#[tokio::test]
async fn a_write_given_up_before_its_reads_leaves_the_same() {
    walk(&[
        (Write(1), Same),
        (Write(2), LeasesNotAdded),
        (Read(1), LeasesNotAdded),
        (Read(2), LeasesNotAdded),
        (ReleaseWrite(1), Same),
        (ReleaseRead(1), Same),
        (ReleaseWrite(0), ReadersTold),
        (Read(2), Same),
        (ReleaseRead(1), Same),
        (ReleaseRead(0), Same),
    ])
    .await;
}
