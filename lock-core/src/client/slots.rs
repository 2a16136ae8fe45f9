//! The slots in which a job runs once: hours, days, or the times of a cron expression.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use lock_key::MAX_DURATION;
use lock_store::InvalidOptions;
use tokio::time::Instant;

/// The shortest slot.
const SHORTEST: Duration = Duration::from_secs(1);
/// How much before a slot's begin a job may start and still be in that slot; at most a tenth of the slot.
const EARLY: Duration = Duration::from_secs(1);
/// The latest time in a slot, since 1970: calendars end some time after the year 9999.
const LATEST: Duration = Duration::from_secs(253_402_300_799);

/// Slots of time, one after the other, in each of which a job is to run once: for
/// [`Acquire::once_per`](crate::Acquire::once_per).
///
/// A job that starts up to a second before a slot begins is in that slot, because a scheduler's timer and
/// the system's clock may differ by some milliseconds. Of slots that are shorter than ten seconds it is a
/// tenth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots(Pattern);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Every(Duration),
    #[cfg_attr(not(feature = "cron"), allow(dead_code, reason = "nothing makes one"))]
    Cron(Cow<'static, str>),
}

/// One slot: from [`Slots::slot_at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slot {
    /// When it begins.
    pub begins: SystemTime,
    /// When it ends, and the next one begins.
    pub ends: SystemTime,
}

impl Slots {
    /// Returns slots of this length, at least a second and at most a year, counted from the beginning of
    /// 1970 in UTC: those of an hour begin at full hours, those of a day at midnight UTC.
    #[must_use]
    pub const fn every(length: Duration) -> Self {
        Self(Pattern::Every(length))
    }

    /// Returns slots that begin at the times of a cron expression, in UTC: five fields (minute, hour, day of
    /// the month, month, day of the week), or six with the second first, such as `"0 3 * * *"`. Each lasts
    /// until the next one begins. An expression that is not valid is an error when the job is run.
    ///
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use lock_core::Slots;
    /// let nightly = Slots::cron("0 3 * * *");
    /// let slot = nightly.slot_at(SystemTime::UNIX_EPOCH)?;
    /// assert_eq!(slot.ends, SystemTime::UNIX_EPOCH + Duration::from_secs(3 * 60 * 60));
    /// # Ok::<_, lock_core::InvalidOptions>(())
    /// ```
    #[cfg(feature = "cron")]
    #[must_use]
    pub fn cron(expression: impl Into<Cow<'static, str>>) -> Self {
        Self(Pattern::Cron(expression.into()))
    }

    /// As [`cron`](Self::cron), for a static.
    #[cfg(feature = "cron")]
    pub(crate) const fn cron_text(expression: &'static str) -> Self {
        Self(Pattern::Cron(Cow::Borrowed(expression)))
    }

    /// Returns the slot of a job that starts at this time.
    ///
    /// # Errors
    ///
    /// [`InvalidOptions`] if the length is out of bounds, the expression is not valid or has no time
    /// before or after this one, or the time is beyond the year 9999.
    pub fn slot_at(&self, time: SystemTime) -> Result<Slot, InvalidOptions> {
        let time = time.max(SystemTime::UNIX_EPOCH);
        if since_epoch(time) > LATEST {
            let why = "the time of a slot is beyond the year 9999: it may be in milliseconds";
            return Err(InvalidOptions::new(why.to_owned()));
        }
        let slot = self.containing(time + EARLY)?;
        let length = slot.ends.duration_since(slot.begins).unwrap_or_default();
        if length >= 10 * EARLY {
            return Ok(slot);
        }
        self.containing(time + length / 10)
    }

    fn containing(&self, time: SystemTime) -> Result<Slot, InvalidOptions> {
        match &self.0 {
            Pattern::Every(length) => every(*length, time),
            #[cfg(feature = "cron")]
            Pattern::Cron(expression) => cron::slot(expression, time),
            #[cfg(not(feature = "cron"))]
            Pattern::Cron(_) => {
                Err(InvalidOptions::new("cron expressions need the feature `cron`".to_owned()))
            }
        }
    }
}

impl Slot {
    /// Returns the seconds from the beginning of 1970 to its begin: it is this part of the key that tells
    /// slots apart.
    pub(super) fn number(&self) -> String {
        let since = since_epoch(self.begins);
        match since.subsec_millis() {
            0 => since.as_secs().to_string(),
            millis => format!("{}.{millis:03}", since.as_secs()),
        }
    }
}

/// The slot of a call, and the time in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotClock {
    pub(super) slot: Slot,
    clock_difference: Duration,
    /// The time of the call, on both clocks.
    called: (SystemTime, Instant),
}

impl SlotClock {
    pub(super) fn new(
        slots: &Slots,
        planned: Option<SystemTime>,
        now: Option<SystemTime>,
        clock_difference: Duration,
    ) -> Result<Self, InvalidOptions> {
        let called = (now.unwrap_or_else(SystemTime::now), Instant::now());
        let slot = slots.slot_at(planned.unwrap_or(called.0))?;
        let length = slot.ends.duration_since(slot.begins).unwrap_or_default();
        Ok(Self { slot, clock_difference: clock_difference.min(length), called })
    }

    /// Returns how long it takes until the slot has ended for every clock.
    pub(super) fn left(&self) -> Duration {
        let (time, since) = self.called;
        let over = self.slot.ends + self.clock_difference;
        let left = over.duration_since(time).unwrap_or_default();
        left.saturating_sub(since.elapsed()).min(MAX_DURATION)
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    // A clock before 1970 is one that was never set.
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn every(length: Duration, time: SystemTime) -> Result<Slot, InvalidOptions> {
    if !(SHORTEST..=MAX_DURATION).contains(&length) {
        let why =
            format!("a slot of {length:?} is out of bounds: at least {SHORTEST:?}, at most a year");
        return Err(InvalidOptions::new(why));
    }
    let millis = u64::try_from(since_epoch(time).as_millis()).unwrap_or(u64::MAX);
    let length = u64::try_from(length.as_millis()).expect("BUG: a year fits");
    let begins = SystemTime::UNIX_EPOCH + Duration::from_millis(millis - millis % length);
    Ok(Slot { begins, ends: begins + Duration::from_millis(length) })
}

#[cfg(feature = "cron")]
mod cron {
    use std::{str::FromStr, time::SystemTime};

    use chrono::{DateTime, Utc};
    use croner::Cron;
    use lock_store::InvalidOptions;

    use super::Slot;

    pub(super) fn slot(expression: &str, time: SystemTime) -> Result<Slot, InvalidOptions> {
        let invalid = |why: croner::errors::CronError| {
            InvalidOptions::new(format!("the cron expression \"{expression}\": {why}"))
        };
        let cron = Cron::from_str(expression).map_err(invalid)?;
        let time = DateTime::<Utc>::from(time);
        let begins = cron.find_previous_occurrence(&time, true).map_err(invalid)?;
        let ends = cron.find_next_occurrence(&time, false).map_err(invalid)?;
        Ok(Slot { begins: begins.into(), ends: ends.into() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const SECOND: Duration = Duration::from_secs(1);
    const MILLISECOND: Duration = Duration::from_millis(1);

    fn at(since: Duration) -> SystemTime {
        SystemTime::UNIX_EPOCH + since
    }

    fn slot(slots: &Slots, since: Duration) -> (Duration, Duration) {
        let slot = slots.slot_at(at(since)).unwrap();
        (since_epoch(slot.begins), since_epoch(slot.ends))
    }

    #[test]
    fn slots_follow_each_other() {
        let hourly = Slots::every(HOUR);
        for (time, begins) in [
            (Duration::ZERO, 0),
            (HOUR - SECOND - MILLISECOND, 0),
            // A timer that fires too early.
            (HOUR - SECOND, 1),
            (HOUR, 1),
            (2 * HOUR - SECOND - MILLISECOND, 1),
        ] {
            assert_eq!(slot(&hourly, time), (begins * HOUR, (begins + 1) * HOUR), "{time:?}");
        }
        assert_eq!(hourly.slot_at(at(Duration::ZERO) - HOUR).unwrap().begins, at(Duration::ZERO));
    }

    #[test]
    fn short_slots_begin_at_most_a_tenth_earlier() {
        for length in [SECOND, 5 * SECOND, 10 * SECOND - MILLISECOND, 10 * SECOND, HOUR] {
            let slots = Slots::every(length);
            let early = (length / 10).min(SECOND);
            let begin = 7_000 * length;
            assert_eq!(slot(&slots, begin - early).0, begin, "{length:?}");
            assert_eq!(slot(&slots, begin - early - MILLISECOND).0, begin - length, "{length:?}");
            assert_eq!(slot(&slots, begin), (begin, begin + length), "{length:?}");
        }
    }

    #[test]
    fn slots_that_are_too_short_or_too_long_are_refused() {
        for length in
            [Duration::ZERO, SECOND - MILLISECOND, MAX_DURATION + MILLISECOND, Duration::MAX]
        {
            Slots::every(length).slot_at(at(HOUR)).unwrap_err();
        }
        Slots::every(MAX_DURATION).slot_at(at(HOUR)).unwrap();
    }

    #[test]
    fn times_beyond_the_calendar_are_refused() {
        for seconds in [LATEST.as_secs() + 1, 1 << 50, i64::MAX.unsigned_abs()] {
            let refused = Slots::every(HOUR).slot_at(at(Duration::from_secs(seconds)));
            assert!(refused.unwrap_err().to_string().contains("9999"));
        }
        Slots::every(HOUR).slot_at(at(LATEST)).unwrap();
        // A clock before 1970 is one that was never set.
        let never_set = SystemTime::UNIX_EPOCH - Duration::from_secs(1 << 50);
        Slots::every(HOUR).slot_at(never_set).unwrap();
        #[cfg(feature = "cron")]
        {
            // Cron expressions are not searched as far.
            Slots::cron("0 3 * * *").slot_at(at(LATEST)).unwrap_err();
            Slots::cron("0 3 * * *").slot_at(never_set).unwrap();
        }
    }

    #[test]
    fn numbers_of_slots_are_seconds() {
        for (length, time, number) in [
            (HOUR, 2 * HOUR, "7200"),
            (Duration::from_millis(1_500), 3 * SECOND, "3"),
            (Duration::from_millis(1_500), Duration::from_millis(1_500), "1.500"),
            (Duration::from_millis(1_005), Duration::from_millis(1_005), "1.005"),
        ] {
            assert_eq!(Slots::every(length).slot_at(at(time)).unwrap().number(), number);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_that_is_left_of_a_slot_passes() {
        let clock = SlotClock::new(&Slots::every(HOUR), None, Some(at(HOUR)), SECOND).unwrap();
        assert_eq!(clock.left(), HOUR + SECOND);
        tokio::time::advance(HOUR).await;
        assert_eq!(clock.left(), SECOND);
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(clock.left(), Duration::ZERO);
    }

    #[cfg(feature = "cron")]
    #[test]
    fn a_slot_lasts_from_one_time_of_an_expression_to_the_next() {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let nightly = Slots::cron("0 3 * * *");
        let third = 10 * DAY + 3 * HOUR;
        for (time, begins) in [
            (third - SECOND - MILLISECOND, third - DAY),
            (third - SECOND, third),
            (third, third),
            (third + MILLISECOND, third),
            (third + DAY - 2 * SECOND, third),
        ] {
            assert_eq!(slot(&nightly, time), (begins, begins + DAY), "{time:?}");
        }
        // 1970 began on a Thursday: Friday at noon to Monday at noon.
        let weekdays = Slots::cron("0 12 * * MON-FRI");
        let friday = DAY + 12 * HOUR;
        assert_eq!(slot(&weekdays, friday + DAY), (friday, friday + 3 * DAY));
        // With seconds.
        let often = Slots::cron("*/5 * * * * *");
        assert_eq!(slot(&often, HOUR + 9 * SECOND), (HOUR + 5 * SECOND, HOUR + 10 * SECOND));
        assert_eq!(slot(&often, HOUR + 9_500 * MILLISECOND).0, HOUR + 10 * SECOND);
    }

    #[cfg(feature = "cron")]
    #[test]
    fn an_expression_that_is_not_valid_is_refused() {
        for expression in ["", "0 3 * *", "61 * * * *", "0 3 * * * * * *", "nightly", "0 0 30 2 *"]
        {
            let refused = Slots::cron(expression).slot_at(at(HOUR)).unwrap_err();
            assert!(refused.to_string().contains(&format!("{expression:?}")), "{refused}");
        }
    }
}
