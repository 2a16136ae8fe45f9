//! Times as an operator reads them.

use std::time::Duration;

use lock_core::__private::time_text;

/// Empty if it is not known.
pub(crate) fn text(time: Option<Duration>) -> String {
    time.map(time_text).unwrap_or_default()
}
