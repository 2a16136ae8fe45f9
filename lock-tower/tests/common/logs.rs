//! What is logged while a test looks.

use std::{cell::RefCell, io, sync::Once};

/// Collects the log lines of the current thread until it is dropped.
///
/// One subscriber for the whole process writes into each thread's own lines: a subscriber per
/// thread would miss events, because whether anybody is interested in one is kept for all threads.
pub struct Logs(());

thread_local! {
    static LINES: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

static SUBSCRIBED: Once = Once::new();

impl Logs {
    pub fn collect() -> Self {
        SUBSCRIBED.call_once(|| {
            tracing_subscriber::fmt()
                .with_writer(|| ThreadLines)
                .with_ansi(false)
                .without_time()
                .init();
        });
        LINES.set(Some(Vec::new()));
        Self(())
    }

    /// The lines of this crate, oldest first.
    pub fn lines(&self) -> Vec<String> {
        let bytes = LINES.with_borrow(|lines| lines.clone().unwrap_or_default());
        let text = String::from_utf8(bytes).unwrap();
        let ours = text.lines().filter(|line| line.contains(" lock_tower::"));
        ours.map(str::to_owned).collect()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        LINES.set(None);
    }
}

struct ThreadLines;

impl io::Write for ThreadLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
