//! What one lock is to requests: its name, kind and conduct, and what it answers.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Response;
use lock_core::{
    __private::{OneOrMany, lock_keys},
    Acquire, Kind, LockClient, LockKey, Mode, Scope,
};

use crate::{
    Outcome, Refused,
    conduct::{Answer, Conduct},
    hold_times::HoldTimes,
    name::Name,
};

/// A function that answers in place of the table.
pub(crate) type Fallback =
    Arc<dyn Fn(Refused) -> BoxFuture<'static, Response<Bytes>> + Send + Sync>;

/// The function as it is kept.
pub(crate) fn fallback<F, A>(answer: F) -> Fallback
where
    F: Fn(Refused) -> A + Send + Sync + 'static,
    A: Future<Output = Response<Bytes>> + Send + 'static,
{
    Arc::new(move |refused| Box::pin(answer(refused)))
}

/// Shared by all requests that ask for this lock.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) conduct: Conduct,
    pub(crate) fallbacks: BTreeMap<Outcome, Fallback>,
    pub(crate) holds: Arc<HoldTimes>,
}

impl Policy {
    pub(crate) fn new(name: Name, kind: Kind) -> Self {
        Self {
            name,
            kind,
            conduct: Conduct::default(),
            fallbacks: BTreeMap::new(),
            holds: Arc::default(),
        }
    }

    /// Acquires these keys as the policy says.
    pub(crate) fn acquire(
        &self,
        client: &LockClient,
        scope: &Scope,
        mode: Mode,
        keys: impl IntoIterator<Item = LockKey>,
    ) -> Acquire<OneOrMany> {
        let acquire = lock_keys(client, self.kind, mode, keys);
        self.conduct.applied_to(acquire).in_scope(scope).called_from(&self.name)
    }

    /// How this policy's answer to `outcome` differs from the table's.
    pub(crate) fn answer(&self, outcome: Outcome) -> Option<&Answer> {
        self.conduct.answers.get(&outcome)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &&*self.name)
            .field("kind", &self.kind)
            .field("conduct", &self.conduct)
            .finish_non_exhaustive()
    }
}
