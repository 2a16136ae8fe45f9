//! The records of the work under a lock in the store: any program that can write there may have
//! written them.

use std::str;

use lock_core::test_util::untrusted_input::{hot_keys, work_record};

/// A record that is read is written again in bounded size, and reads the same then.
///
/// # Panics
///
/// When it is not so.
pub fn work_records(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    assert!(hot_keys(text) <= text.len(), "{text:?}");
    let Some(written) = work_record(text) else { return };
    assert!(written.len() <= 2 * text.len() + 64, "{text:?} became {written:?}");
    assert_eq!(work_record(&written).as_deref(), Some(written.as_str()), "{text:?}");
}
