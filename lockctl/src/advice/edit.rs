//! Changes of single values in the text of a policy file, which keep everything else as it is.

use lock_policy::PolicyFile;
use similar::TextDiff;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Another value of a field of a rule.
pub(crate) struct Edit {
    /// The index of the rule in the file, from 0.
    pub(crate) rule: usize,
    pub(crate) field: &'static str,
    /// As TOML.
    pub(crate) value: String,
}

/// Returns the text with this change; `None` if the file would not be valid then, for example
/// because the wait would be longer than the deadline of requests.
pub(crate) fn applied(name: &str, text: &str, edit: &Edit) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let DeValue::Array(rules) = document.get_ref().get("policy")?.get_ref() else { return None };
    let DeValue::Table(rule) = rules.get(edit.rule)?.get_ref() else { return None };
    let value = |field: &str| rule.get(field).map(Spanned::span);
    let (at, new) = match value(edit.field) {
        Some(old) => (old, edit.value.clone()),
        // Every rule has a name, and a name is on one line.
        None => insertion(text, value("name")?.end, edit)?,
    };
    let edited = [text.get(..at.start)?, &new, text.get(at.end..)?].concat();
    PolicyFile::parse(name, &edited).is_ok().then_some(edited)
}

/// Returns where a new field goes after the name, which ends at `end`, and its text.
fn insertion(text: &str, end: usize, edit: &Edit) -> Option<(std::ops::Range<usize>, String)> {
    let field = format!("{} = {}", edit.field, edit.value);
    let rest = text.get(end..)?;
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    if line.trim_start().starts_with([',', '}']) {
        // The rule is an inline table.
        return Some((end..end, format!(", {field}")));
    }
    let start = text[..end].rfind('\n').map_or(0, |at| at + 1);
    let indent: String =
        text[start..].chars().take_while(|char| matches!(char, ' ' | '\t')).collect();
    let line_break = if line.ends_with('\r') { "\r\n" } else { "\n" };
    let at = end + line.len();
    let inserted = if at < text.len() {
        format!("{indent}{field}{line_break}")
    } else {
        format!("{line_break}{indent}{field}")
    };
    let at = (at + 1).min(text.len());
    Some((at..at, inserted))
}

/// Returns the change of the file `name` for `patch -p0`; empty if there is none.
pub(crate) fn diff(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(name, name).to_string()
}
