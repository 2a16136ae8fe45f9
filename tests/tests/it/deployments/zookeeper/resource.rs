//! What holders of one key do at the same time, as each of them believes.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// Whether a holder believes in its lock at this moment.
type Belief = Box<dyn Fn() -> bool + Send + Sync>;

/// Records holders that exclude each other and believe in their locks at the same moment.
///
/// Belief is requested of both at one moment, so a holder that is late to act on a loss is no violation, but
/// one that has not noticed it is.
#[derive(Default)]
pub(super) struct Resource {
    inside: Mutex<Inside>,
    grants: AtomicU64,
}

#[derive(Default)]
struct Inside {
    holders: Vec<Inmate>,
    next: u64,
    last_token: u64,
    wrongs: Vec<String>,
}

struct Inmate {
    number: u64,
    shares: bool,
    believes: Belief,
}

/// What a holder does: over when it is dropped.
pub(super) struct Visit {
    resource: Arc<Resource>,
    number: u64,
}

impl Resource {
    /// Begins the work of a new holder. A holder that `shares` excludes only those that do not.
    pub(super) fn enter(
        self: &Arc<Self>,
        shares: bool,
        token: Option<u64>,
        believes: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Visit {
        self.grants.fetch_add(1, Ordering::Relaxed);
        let mut inside = self.inside();
        let excluded = |other: &&Inmate| !(shares && other.shares) && (other.believes)();
        let beside = inside.holders.iter().filter(excluded).count();
        // Requested last: a holder that has lost its lock by now says nothing of the others.
        if believes() {
            if beside > 0 {
                inside.wrongs.push(format!("{beside} beside a new holder"));
            }
            if let Some(token) = token.filter(|_| !shares) {
                if token <= inside.last_token {
                    let wrong = format!("token {token} after {}", inside.last_token);
                    inside.wrongs.push(wrong);
                }
                inside.last_token = token;
            }
        }
        let number = inside.next;
        inside.next += 1;
        inside.holders.push(Inmate { number, shares, believes: Box::new(believes) });
        Visit { resource: Arc::clone(self), number }
    }

    /// How often it was granted.
    pub(super) fn grants(&self) -> u64 {
        self.grants.load(Ordering::Relaxed)
    }

    pub(super) fn wrongs(&self) -> Vec<String> {
        self.inside().wrongs.clone()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.resource.inside().holders.retain(|holder| holder.number != self.number);
    }
}

#[test]
fn two_that_exclude_each_other_are_wrong_only_while_both_believe() {
    let resource = Arc::new(Resource::default());
    let reader = resource.enter(true, Some(5), || true);
    let _reader = resource.enter(true, Some(4), || true);
    let _lost = resource.enter(false, Some(6), || false);
    assert_eq!(resource.wrongs(), [""; 0]);
    let _writer = resource.enter(false, Some(7), || true);
    assert_eq!(resource.wrongs(), ["2 beside a new holder"]);
    drop(reader);
    let _writer = resource.enter(false, Some(7), || true);
    assert_eq!(resource.wrongs()[1..], ["2 beside a new holder", "token 7 after 7"]);
    assert_eq!(resource.grants(), 5);
}
