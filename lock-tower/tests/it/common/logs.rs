//! Records the log of a test.

use std::{cell::RefCell, io, sync::Mutex};

use super::subscriber::subscribe;

/// Collects the log lines of the current thread until it is dropped.
pub struct Logs(bool);

thread_local! {
    static LINES: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// The log lines of threads on which no test collects, while a test collects them.
static OTHERS: Mutex<Option<Vec<u8>>> = Mutex::new(None);

impl Logs {
    pub fn collect() -> Self {
        subscribe();
        LINES.set(Some(Vec::new()));
        Self(false)
    }

    /// Collects the log lines of threads on which no test collects, such as those for blocking
    /// work, including those of other tests.
    pub fn collect_of_other_threads() -> Self {
        subscribe();
        OTHERS.lock().unwrap().get_or_insert_default();
        Self(true)
    }

    /// The lines of this crate and of its page for operators, oldest first.
    pub fn lines(&self) -> Vec<String> {
        let text = self.text();
        let ours = text
            .lines()
            .filter(|line| line.contains(" lock_tower::") || line.contains(" lock_admin::"));
        ours.map(str::to_owned).collect()
    }

    /// Returns all collected log lines.
    pub fn text(&self) -> String {
        let bytes = match self.0 {
            true => OTHERS.lock().unwrap().clone(),
            false => LINES.with_borrow(Clone::clone),
        };
        String::from_utf8(bytes.unwrap_or_default()).unwrap()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        if !self.0 {
            LINES.set(None);
        }
    }
}

pub(super) struct ThreadLines;

impl io::Write for ThreadLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| match lines {
            Some(lines) => lines.extend_from_slice(bytes),
            None => {
                if let Some(lines) = &mut *OTHERS.lock().unwrap() {
                    lines.extend_from_slice(bytes);
                }
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
