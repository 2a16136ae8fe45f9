//! A read lock that a rule has from the defaults, for requests that change something.

use http::Method;
use lock_core::Mode;

use super::{Rule, effective_fields::EffectiveFields};
use crate::{diagnostics::Diagnostic, matching::Matcher, read::Fields, settings::LockMode};

/// Warns of a rule whose writers run beside each other because `[defaults]` has `mode = "read"`. A
/// rule that says so itself means it.
pub(crate) fn check(
    rule: &Rule,
    fields: &Fields,
    defaults: Option<&Fields>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let (methods, of_attribute): (&[Method], _) = match &rule.matcher {
        Matcher::Route(route) => (&route.methods, false),
        // Its lock writes, unless the code says otherwise, which is not known here.
        Matcher::Attribute(_) => (&[], true),
    };
    let effective = EffectiveFields { rule: fields, defaults, of_attribute };
    let Some(mode) = effective.get("mode").filter(|mode| mode.word() == Some("read")) else {
        return;
    };
    let writes = |method| LockMode::ByMethod.of(method) == Mode::Write;
    if fields.get("mode").is_none() && (methods.is_empty() || methods.iter().any(writes)) {
        let span = fields.get("match").map_or(&fields.span, |read| &read.span);
        diagnostics.push(
            Diagnostic::warning(
                span.clone(),
                format!(
                    "\"{}\" reads with every method: requests that write run at once",
                    rule.name
                ),
            )
            .related(mode.span.clone(), "by the defaults")
            .help("write the rule's own `mode`: \"auto\", or \"read\" if that is meant".to_owned()),
        );
    }
}
