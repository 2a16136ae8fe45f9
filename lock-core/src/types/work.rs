//! The work of a lock's owner, as its process records it for operators.

use std::{
    fmt::Debug,
    time::{Duration, SystemTime},
};

use lock_store::visible;
use serde::{Deserialize, Serialize};

/// How many further keys of a scope are written down.
pub(crate) const MOST_KEYS: usize = 16;
/// Longer texts are cut: they may be a client's.
const LONGEST_TEXT: usize = 256;
/// The longest record that is read: more than the longest that is written.
const LONGEST_RECORD: usize = 32 * 1024;

/// The work of a lock's owner, as its process has recorded it: in [`HolderInfo`](crate::HolderInfo)
/// and [`WaiterInfo`](crate::WaiterInfo).
///
/// A hold is recorded when it is renewed for the first time. A waiter is recorded once it has
/// waited for half a second, together with the holds of its scope. Nothing is sent for holds and
/// waits that end before. It is for operators, and may be outdated: no lock relies on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct WorkInfo {
    /// The name of the acquisition: of a layer, an attribute or a rule, or set by
    /// [`Acquire::name`](crate::Acquire::name).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The method and the pattern of the request's route, such as `PUT /orders/{id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Where in the program it was acquired. Release builds do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The request's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The id of the trace that the request belongs to: 32 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The id of the span that sent the request: 16 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// Since when it holds the lock, or waits for it, by the clock of the owner's host, to the
    /// millisecond.
    #[serde(rename = "since_ms", with = "milliseconds", skip_serializing_if = "Option::is_none")]
    pub since: Option<SystemTime>,
    /// Other keys that its scope holds, at most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_holds: Vec<String>,
    /// The key that its scope waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Since when its scope waits for that, by the clock of the owner's host, to the millisecond.
    #[serde(
        rename = "waits_since_ms",
        with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub waits_since: Option<SystemTime>,
    /// How many callers of its process wait for this lock in the process' own queue. The store does
    /// not have them. Of several owners that a process has at one key, one has the count.
    #[serde(skip_serializing_if = "is_zero")]
    pub local_waiters: usize,
    /// Whether the holder listens to requests to release: see
    /// [`LockGuard::release_requested`](crate::LockGuard::release_requested). `None`: of a waiter, or
    /// not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listens: Option<bool>,
}

/// Describes the work of a [`Scope`](crate::Scope), such as its request. Called when it is written
/// down, which is never for most scopes.
pub trait WorkOrigin: Debug + Send + Sync {
    /// Fills in the known fields: the route, the request's id, its trace. Nothing secret: the store
    /// keeps it in clear text.
    fn describe(&self, work: &mut WorkInfo);
}

impl WorkInfo {
    /// The text that the store keeps.
    pub(crate) fn into_text(mut self) -> String {
        self.texts().into_iter().for_each(cut);
        self.also_holds.truncate(MOST_KEYS);
        serde_json::to_string(&self).expect("BUG: texts and numbers are JSON")
    }

    /// Parses the text of a store, which others may have written.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_RECORD {
            return None;
        }
        let mut work: Self = serde_json::from_str(text).ok()?;
        // People read these. Keys stay as they are: deadlocks are found by them.
        for text in work.texts().into_iter().flatten() {
            *text = visible(text).into_owned();
        }
        Some(work)
    }

    fn texts(&mut self) -> [&mut Option<String>; 6] {
        [
            &mut self.name,
            &mut self.route,
            &mut self.site,
            &mut self.request_id,
            &mut self.trace_id,
            &mut self.span_id,
        ]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn cut(text: &mut Option<String>) {
    if let Some(text) = text
        && let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT)
    {
        text.truncate(end);
    }
}

mod milliseconds {
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, Duration, Serialize, SystemTime};

    pub(super) fn serialize<S: Serializer>(
        since: &Option<SystemTime>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let since = since.and_then(|since| since.duration_since(SystemTime::UNIX_EPOCH).ok());
        since.and_then(|since| u64::try_from(since.as_millis()).ok()).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let since = Option::<u64>::deserialize(from)?;
        let at = |since| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(since));
        Ok(since.and_then(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let work = WorkInfo {
            name: Some("orders".to_owned()),
            route: Some("PUT /orders/{id}".to_owned()),
            request_id: Some("\"<b>\n\u{1f512}".to_owned()),
            since: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_654_800_123)),
            also_holds: vec!["stock:7".to_owned()],
            waits_for: Some("invoice:1".to_owned()),
            local_waiters: 3,
            listens: Some(true),
            ..WorkInfo::default()
        };
        let text = work.clone().into_text();
        assert!(text.contains(r#""since_ms":1795654800123"#), "{text}");
        assert!(!text.contains("trace_id"), "{text}");
        // A client's text must not end a line of the operator's output.
        let request_id = Some("\"<b>\\u{a}\u{1f512}".to_owned());
        assert_eq!(WorkInfo::parse(&text), Some(WorkInfo { request_id, ..work }));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let work = WorkInfo {
            request_id: Some("\u{1f512}".repeat(1_000)),
            also_holds: vec!["k".to_owned(); 100],
            ..WorkInfo::default()
        };
        let read = WorkInfo::parse(&work.into_text()).expect("a record");
        assert_eq!(read.request_id, Some("\u{1f512}".repeat(LONGEST_TEXT)));
        assert_eq!(read.also_holds.len(), MOST_KEYS);
    }

    #[test]
    fn what_is_no_record_is_ignored() {
        for text in ["", "x", "7", r#"{"name":7}"#, r#"{"since_ms":-1}"#, r#"{"since_ms":1e400}"#] {
            assert_eq!(WorkInfo::parse(text), None, "{text}");
        }
        assert!(WorkInfo::parse(r#"{"since_ms":18446744073709551615}"#).is_some());
        assert_eq!(WorkInfo::parse(&format!(r#"{{"name":"{}"}}"#, "x".repeat(40_000))), None);
        let other =
            WorkInfo::parse(r#"{"name":"n","later":true}"#).expect("fields of later versions");
        assert_eq!(other.name.as_deref(), Some("n"));
        assert_eq!(
            (other.local_waiters, other.listens),
            (0, None),
            "as an earlier version writes it"
        );
    }
}
