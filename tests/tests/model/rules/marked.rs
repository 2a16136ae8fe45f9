//! No line: of those who were refused, the one that has waited longest is next, as long as its mark
//! lives. Readers stand back behind a writer that is next, writers behind anybody.

use lock_core::Mode;

use super::{Ask, Lock, Says, Waiter};

impl Lock {
    pub(super) fn refuse_unless_next(
        &mut self,
        owner: usize,
        ask: Ask,
        shut_out: Option<u64>,
        first: bool,
    ) -> Option<Says> {
        let since = self.now.cast_signed() - ask.waited.cast_signed();
        let longer =
            self.waiters.first().filter(|other| other.owner != owner && other.since <= since);
        if let Some(until) = shut_out {
            let in_line = longer.is_none() && ask.place.is_some();
            if let Some(life) = ask.place.filter(|_| in_line) {
                let mark = Waiter { owner, mode: ask.mode, since, until: self.now + life };
                self.waiters = vec![mark];
            }
            return Some(Says::Busy { remaining: Some(until - self.now), in_line });
        }
        let mark = longer.filter(|_| first && ask.yields)?;
        let in_the_way = mark.mode == Mode::Write || ask.mode == Mode::Write;
        in_the_way.then(|| Says::Yield { remaining: mark.until - self.now })
    }
}
