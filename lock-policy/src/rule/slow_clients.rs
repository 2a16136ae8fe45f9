//! Locks that a slow client can hold without end.

use super::{Rule, effective_fields::EffectiveFields};
use crate::{diagnostics::Diagnostic, matching::Matcher, read::Fields};

/// Warns of a body that is sent under the lock of a rule without `max_hold`. A read lock is no
/// exception: it excludes writers for as long. Of an attribute the code may have set `max_hold`.
pub(crate) fn check(
    rule: &Rule,
    fields: &Fields,
    defaults: Option<&Fields>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Matcher::Route(_) = &rule.matcher else { return };
    let effective = EffectiveFields { rule: fields, defaults, of_attribute: false };
    if effective.get("max_hold").is_some() {
        return;
    }
    for (name, word, what) in [
        ("body", "stream", "a client that sends its body slowly holds this lock without end"),
        (
            "hold_until",
            "body",
            "a client that reads the response slowly holds this lock without end",
        ),
    ] {
        if let Some(read) = effective.get(name).filter(|read| read.word() == Some(word)) {
            diagnostics.push(
                Diagnostic::warning(read.span.clone(), what)
                    .help("add a `max_hold`, such as max_hold = \"1m\"".to_owned()),
            );
        }
    }
}
