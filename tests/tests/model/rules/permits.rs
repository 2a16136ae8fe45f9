//! The semaphore: as many holders as there are permits, in no order.

use lock_core::Mode;

use super::{Ask, Hold, Lock, Says};

impl Lock {
    pub(super) fn take_permit(&mut self, owner: usize, ask: Ask) -> Says {
        let until = self.now + ask.lease;
        let permits = *self.permits.get_or_insert(ask.permits.into());
        if let Some(hold) = self.hold(owner, Mode::Write) {
            hold.until = hold.until.max(until);
        } else if self.free(permits) > 0 {
            self.holds.push(Hold { owner, mode: Mode::Write, count: 1, until });
        } else {
            let next = self.holds.iter().map(|hold| hold.until - self.now).min();
            return Says::Busy { remaining: next, in_line: false };
        }
        Says::Granted { token: false }
    }

    pub(crate) fn set_permits(&mut self, permits: u32, only_missing: bool) -> Says {
        if !(only_missing && self.permits.is_some()) {
            self.permits = Some(permits.into());
        }
        Says::Free(self.free(self.permits.unwrap_or_default()))
    }

    fn free(&self, permits: i64) -> i64 {
        permits - i64::try_from(self.holds.len()).unwrap()
    }

    pub(crate) fn free_permits(&self) -> Option<i64> {
        self.permits.map(|permits| self.free(permits))
    }
}
