//! The further steps of a long wait: it is recorded, it finds the owner of the lock, and it checks
//! whether it waits for itself.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::Poll,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, future::BoxFuture};
use lock_store::{
    LockKey,
    runtime::{Backoff, jittered},
};
use tokio::time::Instant;
use tracing::{Span, field::display};

use super::{deadlock, inspect::holders};
use crate::{
    hold::{ClientInner, Lease, LockRequest, ScopeHolds, WaitDeadline, WaitRecord},
    types::{AcquireError, BusyHolder, Deadlock},
};

/// A wait that lasts longer is long.
const LONG: Duration = Duration::from_millis(500);
/// Over how long the first looks of a crowd are spread.
const SPREAD: Duration = Duration::from_millis(200);
/// After how long it looks for a deadlock, and looks again for one that it has found: it must be there two
/// times in a row.
const LOOK: Duration = Duration::from_millis(400);
/// While it finds none it looks ever less often. Whichever wait begins last closes the circle, and is the one
/// that is refused: for that one this is soon.
const LEAST_OFTEN: Duration = Duration::from_secs(5);

/// A wait that has become long. It ends when this is dropped.
pub(crate) struct LongWait {
    _record: WaitRecord,
    /// Resolves if the acquisition is to be refused because it would wait forever.
    deadlock: BoxFuture<'static, Deadlock>,
    holder: Arc<OnceLock<BusyHolder>>,
}

/// When a wait becomes long.
pub(crate) fn begins_at(wait_deadline: &WaitDeadline) -> Instant {
    wait_deadline.started_at + LONG
}

impl LongWait {
    /// `lease`: where it waits in the store; `None` in this process' own queue. Returns `None` if
    /// the client does not record the work under locks.
    pub(crate) fn begin(
        client: &Arc<ClientInner>,
        request: &LockRequest,
        wait_deadline: &WaitDeadline,
        lease: Option<&Lease>,
    ) -> Option<Box<Self>> {
        let record = WaitRecord::begin(client, request, wait_deadline, lease)?;
        let holder = Arc::<OnceLock<BusyHolder>>::default();
        let watch = Watch {
            client: Arc::clone(client),
            key: request.key.clone(),
            since: record.since(),
            refuses: request.options.refuse_deadlock.unwrap_or(client.settings.refuse_deadlocks),
            holder: Arc::clone(&holder),
            contends: lease.is_some(),
        };
        let deadlock = watch.deadlock(request.scope.clone()).boxed();
        Some(Box::new(Self { _record: record, deadlock, holder }))
    }

    /// Waits for `event` in the course of a wait. Fails when the acquisition would wait forever.
    // No async function, which would have room for its arguments twice: thousands wait in this.
    pub(crate) fn during<'a, T>(
        this: &'a mut Option<Box<Self>>,
        mut event: Pin<&'a mut impl Future<Output = T>>,
    ) -> impl Future<Output = Result<T, AcquireError>> + 'a {
        poll_fn(move |context| {
            if let Poll::Ready(event) = event.as_mut().poll(context) {
                return Poll::Ready(Ok(event));
            }
            let Some(this) = this else { return Poll::Pending };
            this.deadlock.as_mut().poll(context).map(|deadlock| Err(deadlock.into()))
        })
    }

    /// The refusal of this wait, with the holder if it is known.
    pub(crate) fn named(this: &Option<Box<Self>>, mut refusal: AcquireError) -> AcquireError {
        if let (Some(this), AcquireError::Busy(busy)) = (this, &mut refusal) {
            busy.holder = this.holder.get().cloned().map(Box::new);
        }
        refusal
    }
}

struct Watch {
    client: Arc<ClientInner>,
    key: LockKey,
    since: SystemTime,
    refuses: bool,
    holder: Arc<OnceLock<BusyHolder>>,
    /// It waits in the store, not behind another of this process.
    contends: bool,
}

impl Watch {
    /// Resolves when the acquisition would wait forever and is to be refused.
    async fn deadlock(self, scope: Option<Arc<ScopeHolds>>) -> Deadlock {
        // Of all that wait for a key in this process one looks: a thousand cost the store no more than it.
        if self.contends {
            // A crowd that began to wait at once does not look at once.
            tokio::time::sleep(jittered(SPREAD)).await;
            self.look_for_holder().await;
        }
        let Some(scope) = scope else { return std::future::pending().await };
        let (mut before, mut reported) = (None, false);
        let mut pause = Backoff::new(LOOK);
        loop {
            tokio::time::sleep(pause.next(LEAST_OFTEN)).await;
            let found = deadlock::find(&self.client, &scope, &self.key, self.since).await;
            // A record may be older than a grant or a release: such a circle is gone by now.
            if let Some(circle) = &found
                && before == found
            {
                if !std::mem::replace(&mut reported, true) {
                    self.client.statistics.deadlocks.add(1);
                    self.report(&circle.keys);
                }
                if self.refuses && circle.is_last() {
                    let keys = circle.keys.iter().map(ToString::to_string).collect();
                    return Deadlock { key: self.key.clone(), keys };
                }
            }
            if found.is_some() {
                pause = Backoff::new(LOOK);
            }
            before = found;
        }
    }

    /// Shows in the span of the wait which process holds the lock, and its work.
    async fn look_for_holder(&self) {
        let Ok(found) = holders(&self.client, &self.key).await else { return };
        let Some(holder) = found.holders.into_iter().next() else { return };
        let span = Span::current();
        if let Some(client) = &holder.client {
            span.record("holder", display(format_args!("{} {}", client.service, client.instance)));
        }
        if let Some(work) = &holder.work {
            let texts = [
                ("holder_name", &work.name),
                ("holder_route", &work.route),
                ("holder_request_id", &work.request_id),
                ("holder_trace_id", &work.trace_id),
                ("holder_span_id", &work.span_id),
            ];
            for (field, text) in texts {
                if let Some(text) = text {
                    span.record(field, text.as_str());
                }
            }
        }
        // Without the owner, which anyone that knows it could release.
        let _ = self.holder.set(BusyHolder { client: holder.client, work: holder.work });
    }

    fn report(&self, keys: &[LockKey]) {
        let locks = keys.len();
        if self.client.settings.log_keys {
            tracing::warn!(locks, ?keys, "deadlock: holders of locks wait for each other");
        } else {
            tracing::warn!(locks, "deadlock: holders of locks wait for each other");
            tracing::debug!(?keys, "deadlock: holders of locks wait for each other");
        }
    }
}
