//! Requests that read under a fair lock, which has no readers.

use lock_core::{Kind, Mode};

use super::{Rule, effective_fields::EffectiveFields};
use crate::{diagnostics::Diagnostic, matching::Matcher, read::Fields, settings::LockMode};

/// Warns of a rule whose readers wait for each other, although a fair lock with readers exists. A rule
/// that has `mode = "write"`, or only methods that write, means it.
pub(crate) fn check(
    rule: &Rule,
    fields: &Fields,
    defaults: Option<&Fields>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Matcher::Route(route) = &rule.matcher else { return };
    let effective = EffectiveFields { rule: fields, defaults, of_attribute: false };
    let is_fair = rule.kind == Some(Kind::Fair);
    let by_method = effective.get("mode").is_none_or(|mode| mode.word() == Some("auto"));
    let reads = |method| LockMode::ByMethod.of(method) == Mode::Read;
    let has_readers = route.methods.is_empty() || route.methods.iter().any(reads);
    if let Some(kind) = effective.get("kind").filter(|_| is_fair && by_method && has_readers) {
        let what = format!("requests of \"{}\" that read wait for each other", rule.name);
        let help = "write \"fair_read_write\", in which readers share; or mode = \"write\" if \
                    this is meant";
        diagnostics.push(Diagnostic::warning(kind.span.clone(), what).help(help.to_owned()));
    }
}
