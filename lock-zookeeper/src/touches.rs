//! The moment up to which the leader certainly knows that the session is alive.
//!
//! The leader ends a session when it has received no sign of it for its timeout. For the clients of
//! a follower it relies on that follower, which reports every half tick from which clients it has
//! received something. An answer to a command proves less: the leader does not count the command
//! itself. A process may be paused, and its follower may fail before the next report. Then the
//! session ends as counted from before the pause, however many commands were confirmed since.
//!
//! A read that was answered a quarter of the timeout ago, at least half a tick, was reported before
//! any command of now. Small reads, all the time, provide such answers. If none is recent, because
//! the process or its link was paused, a grant waits for one.

use std::{collections::VecDeque, time::Duration};

use lock_store::runtime::{LeaseInstant, Mutex};
use zookeeper_client::Client;

use super::session::is_lost;

/// The answers to small reads of one session.
pub(crate) struct Touches {
    timeout: Duration,
    answers: Mutex<VecDeque<Touch>>,
}

struct Touch {
    sent: LeaseInstant,
    received: LeaseInstant,
}

impl Touches {
    /// Of a session that the leader itself began, at this moment or later.
    pub(crate) fn new(timeout: Duration, began: LeaseInstant) -> Self {
        // The leader has begun the session itself, so it needs no report of a follower: this answer
        // counts as reported from the start.
        let begun = Touch { sent: began, received: began.before(timeout) };
        Self { timeout, answers: Mutex::new(VecDeque::from([begun])) }
    }

    pub(crate) fn period(&self) -> Duration {
        self.timeout / 20
    }

    /// Whether a command that is sent now and confirmed may be relied upon for three fifths of the
    /// timeout: the leader knows of something that is no older than two fifths.
    pub(crate) fn are_known(&self) -> bool {
        self.are_known_at(LeaseInstant::now())
    }

    fn are_known_at(&self, now: LeaseInstant) -> bool {
        let mut answers = self.answers.lock();
        let reported = |answer: &Touch| answer.received.after(self.timeout / 4) <= now;
        // The newest answer that was certainly reported stays in front. Those behind it are kept
        // until they are reported.
        while answers.get(1).is_some_and(reported) {
            answers.pop_front();
        }
        answers
            // Counted from the sending: the server may have received the read at any moment after
            // it.
            .front()
            .is_some_and(|last| reported(last) && last.sent.after(self.timeout * 2 / 5) >= now)
    }

    fn answered(&self, sent: LeaseInstant, received: LeaseInstant) {
        self.answers.lock().push_back(Touch { sent, received });
    }

    /// Reads for as long as the session lasts.
    pub(crate) async fn keep(&self, client: &Client) {
        loop {
            let sent = LeaseInstant::now();
            match client.check_stat("/").await {
                Ok(_) => self.answered(sent, LeaseInstant::now()),
                Err(why) if is_lost(&why) => {}
                // The session has ended, which `until_ended` notices. If this returned, the next
                // session would be requested before the end is recorded.
                Err(_) => return std::future::pending().await,
            }
            // Drops old answers: while no lock is acquired nothing else does, and the list would
            // grow for as long as the session lasts.
            self.are_known();
            tokio::time::sleep(self.period()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::{reliable, session_timeout_for};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_confirmed_right_after_a_silence_may_not_be_relied_upon() {
        let begun = LeaseInstant::now();
        let touches = Touches::new(20 * SECOND, begun);
        let at = |seconds: u32| begun.after(SECOND * seconds);
        assert!(touches.are_known_at(at(1)), "the leader has begun it");
        assert!(!touches.are_known_at(at(9)), "nothing was heard of it since");
        touches.answered(at(10), at(10));
        assert!(!touches.are_known_at(at(14)), "the follower may not have reported it");
        assert!(touches.are_known_at(at(15)), "it has");
        assert!(touches.are_known_at(at(18)));
        assert!(!touches.are_known_at(at(19)), "that is long ago");
    }

    #[test]
    fn no_grant_is_relied_upon_for_longer_than_the_leader_keeps_the_session() {
        let (timeout, begun) = (20 * SECOND, LeaseInstant::now());
        let touches = Touches::new(timeout, begun);
        touches.answered(begun, begun);
        let moments = (0..40).map(|halves| begun.after(SECOND / 2 * halves));
        let last = moments.filter(|now| touches.are_known_at(*now)).last().expect("it is known");
        assert!(last.after(reliable(timeout)) <= begun.after(timeout));
        assert_eq!(reliable(session_timeout_for(3 * SECOND)), 3 * SECOND);
    }
}
