//! Reports the events of locks to the client's observer.

use lock_store::runtime::LeaseInstant;

use super::{ClientInner, Hold, LockRequest, WaitDeadline};
use crate::types::{
    AcquireError, GrantedEvent, LostCause, LostEvent, ObservedLock, RefusedEvent, ReleasedEvent,
};

impl LockRequest {
    fn observed(&self) -> ObservedLock<'_> {
        ObservedLock {
            name: self.options.name.as_deref(),
            key: &self.key,
            kind: self.kind,
            mode: self.mode,
            by_policy: self.options.by_policy,
        }
    }
}

impl ClientInner {
    pub(crate) fn report_granted(
        &self,
        hold: &Hold,
        request: &LockRequest,
        wait_deadline: &WaitDeadline,
    ) {
        if hold.waited {
            self.count_contended(request, wait_deadline.started_at);
        }
        if hold.handed_off {
            self.statistics.local_handoffs.add(1);
        }
        self.settings.observer.report(|observer| {
            observer.granted(&GrantedEvent {
                lock: request.observed(),
                waited: wait_deadline.started_at.elapsed(),
                handed_off: hold.handed_off,
            });
        });
    }

    pub(crate) fn report_refused(
        &self,
        request: &LockRequest,
        wait_deadline: &WaitDeadline,
        error: &AcquireError,
    ) {
        self.events.refused();
        let was_taken = matches!(
            error,
            AcquireError::Busy(_) | AcquireError::Overloaded(_) | AcquireError::Deadlock(_)
        );
        if was_taken {
            self.count_contended(request, wait_deadline.started_at);
        }
        self.settings.observer.report(|observer| {
            observer.refused(&RefusedEvent {
                lock: request.observed(),
                waited: wait_deadline.started_at.elapsed(),
                error,
            });
        });
    }
}

impl Hold {
    fn observed(&self) -> ObservedLock<'_> {
        ObservedLock {
            name: self.name.as_deref(),
            key: &self.lease.key,
            kind: self.lease.kind,
            mode: self.mode,
            by_policy: self.by_policy,
        }
    }

    pub(super) fn report_lost(&self, cause: LostCause) {
        self.lease.client.events.lost();
        self.lease.client.settings.observer.report(|observer| {
            observer.lost(&LostEvent {
                lock: self.observed(),
                held_for: LeaseInstant::now().since(self.granted_at),
                cause,
                least_remaining: self.least_remaining(),
            });
        });
    }

    pub(super) fn report_released(&self) {
        self.lease.client.settings.observer.report(|observer| {
            observer.released(&ReleasedEvent {
                lock: self.observed(),
                held_for: LeaseInstant::now().since(self.granted_at),
                least_remaining: self.least_remaining(),
            });
        });
    }
}
