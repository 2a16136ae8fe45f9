//! The one subscriber of the test program, for [`Logs`](super::logs::Logs) and
//! [`Spans`](super::spans::Spans).
//!
//! Each thread has its own lines and spans. A subscriber per thread would miss events, because
//! tracing remembers for all threads together whether an event is of interest.

use std::sync::Once;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, layer::SubscriberExt, util::SubscriberInitExt};

use super::{logs::ThreadLines, spans::Recorder};

static SUBSCRIBED: Once = Once::new();

pub fn subscribe() {
    SUBSCRIBED.call_once(|| {
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(|| ThreadLines)
            .with_ansi(false)
            .without_time()
            .with_filter(LevelFilter::INFO);
        tracing_subscriber::registry().with(lines).with(Recorder).init();
    });
}
