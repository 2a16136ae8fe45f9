//! What this process knows of the counters of fencing tokens.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::{runtime::Mutex, store::redis::connection::Connection, types::FencingToken};

/// How long a counter that a script has raised to Redis' clock may be counted on without another
/// look at the clock.
const RAISED_FOR: Duration = Duration::from_secs(1);

/// One counter: of a server, or of a slot of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    /// The greatest token that is known.
    known: AtomicU64,
    /// The connection over which a script has raised it to Redis' clock, and when that was sent.
    raised: Mutex<Option<(Weak<Connection>, Instant)>>,
}

impl Counter {
    /// The greatest token that is known.
    pub(crate) fn known(&self) -> u64 {
        self.known.load(Ordering::Acquire)
    }

    /// A token was granted, and so many in reserve after it.
    pub(crate) fn granted(&self, token: FencingToken, more: u32) {
        let last = token.get().saturating_add(u64::from(more));
        self.known.fetch_max(last, Ordering::AcqRel);
    }

    pub(crate) fn raised(&self, connection: &Arc<Connection>, sent: Instant) {
        *self.raised.lock() = Some((Arc::downgrade(connection), sent));
    }

    /// Whether INCRBY over this connection gives tokens that exceed all earlier ones. Behind a new
    /// connection another server may be, whose counter lacks the last tokens: a script that looks at
    /// the clock comes first.
    pub(crate) fn may_increment(&self, connection: &Arc<Connection>) -> bool {
        let raised = self.raised.lock();
        raised.as_ref().is_some_and(|(over, sent)| {
            std::ptr::eq(over.as_ptr(), Arc::as_ptr(connection)) && sent.elapsed() < RAISED_FOR
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::connect::fake_server::FakeServer;

    #[test]
    fn the_greatest_token_is_known_with_those_in_reserve() {
        let counter = Counter::default();
        assert_eq!(counter.known(), 0);
        counter.granted(FencingToken::new(5), 2);
        assert_eq!(counter.known(), 7);
        counter.granted(FencingToken::new(3), 0);
        assert_eq!(counter.known(), 7, "a late answer");
    }

    #[tokio::test]
    async fn tokens_are_drawn_without_a_look_at_the_clock_over_the_same_connection_alone() {
        let fake = FakeServer::start(|_| None).await;
        let open = async || Arc::new(Connection::open(&fake.server()).await.expect("a connection"));
        let (first, second) = (open().await, open().await);
        let counter = Counter::default();
        assert!(!counter.may_increment(&first));
        counter.raised(&first, Instant::now());
        assert!(counter.may_increment(&first));
        assert!(!counter.may_increment(&second), "another server may be behind it");
        counter.raised(&first, Instant::now() - RAISED_FOR);
        assert!(!counter.may_increment(&first), "the clock has gone on");
    }
}
