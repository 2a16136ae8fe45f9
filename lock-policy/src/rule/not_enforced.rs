//! Rules that lock nothing, and do not say that they are only measured.

use super::{Rule, effective_fields::EffectiveFields};
use crate::{diagnostics::Diagnostic, matching::Matcher, read::Fields, settings::Enforce};

/// Warns of a rule that is off, or enforced for none of the keys. `shadow` is deliberate.
pub(crate) fn check(
    rule: &Rule,
    fields: &Fields,
    defaults: Option<&Fields>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let of_attribute = matches!(rule.matcher, Matcher::Attribute(_));
    let effective = EffectiveFields { rule: fields, defaults, of_attribute };
    let what = match rule.settings.enforce {
        Some(Enforce::Off) => "this lock is off: it is neither enforced nor measured",
        Some(Enforce::Percent(0)) => "this lock is enforced for none of the keys",
        _ => return,
    };
    if let Some(read) = effective.get("enforce") {
        let help = "write \"on\", or \"shadow\" for a lock that is measured first";
        diagnostics.push(Diagnostic::warning(read.span.clone(), what).help(help.to_owned()));
    }
}
