use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Future, ready},
    mem,
    time::Duration,
};

use lock_core::{__private::Mutex, FencingToken};
use tokio::time::Instant;

/// As many resources are remembered at least, and twice as many at most.
const REMEMBERED: usize = 32_768;
/// Minimum time for which a resource is remembered, unless there are too many. While other
/// resources arrive, the maximum is twice that.
const REMEMBERED_FOR: Duration = Duration::from_secs(60 * 60);

/// The place where a resource keeps the newest token that it has seen. It has to be as lasting as
/// the resource itself, and belongs to it: to the same database, in the same transaction where
/// there is one.
pub trait FenceStore: Sync {
    /// Why the store fails.
    type Error: std::fmt::Display + Send;

    /// Records this token for the resource and returns true, unless a greater one is recorded. Both in
    /// one step: of two calls at the same time, one sees the other's token.
    fn admit(
        &self,
        resource: &str,
        token: FencingToken,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}

/// Tokens in the memory of this process: for resources that live there too, and for tests.
///
/// It remembers the newest token of each resource for one to two hours after it was last admitted, of
/// 65,536 resources at most, and of 32,768 at least. Forgetting never admits a stale token: a
/// resource that it does not remember needs a token at least as great as the greatest one that it
/// has forgotten. So beside more resources, or for locks that are held for longer, a holder may be
/// refused that still has its lock. Then implement [`FenceStore`] for the resource's own store.
///
/// All tokens must be of one store: those of Redis are far greater than those of ZooKeeper.
#[derive(Debug, Default)]
pub struct MemoryFences(Mutex<SeenTokens>);

impl FenceStore for MemoryFences {
    type Error = Infallible;

    fn admit(
        &self,
        resource: &str,
        token: FencingToken,
    ) -> impl Future<Output = Result<bool, Infallible>> + Send {
        ready(Ok(self.0.lock().admit(resource, token)))
    }
}

/// Two generations of resources, of which the older one is forgotten as a whole.
#[derive(Debug, Default)]
struct SeenTokens {
    recent: HashMap<String, FencingToken>,
    older: HashMap<String, FencingToken>,
    /// When the recent ones began.
    since: Option<Instant>,
    greatest_forgotten: Option<FencingToken>,
}

impl SeenTokens {
    fn admit(&mut self, resource: &str, token: FencingToken) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.recent.len() >= REMEMBERED || since.elapsed() >= REMEMBERED_FOR {
            self.forget();
        }
        let known = self.recent.get(resource).or_else(|| self.older.get(resource));
        let known = known.copied().or(self.greatest_forgotten);
        let admitted = known.is_none_or(|known| token >= known);
        if admitted {
            self.recent.insert(resource.to_owned(), token);
        }
        admitted
    }

    fn forget(&mut self) {
        let forgotten = mem::replace(&mut self.older, mem::take(&mut self.recent));
        self.greatest_forgotten = forgotten.into_values().chain(self.greatest_forgotten).max();
        self.since = Some(Instant::now());
    }
}
