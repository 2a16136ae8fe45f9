//! Rules under which the latest request wins: `on_busy = "replace"`.

use lock_core::Kind;

use super::effective_fields::EffectiveFields;
use crate::{
    diagnostics::Diagnostic,
    key::KeyTemplates,
    read::{Fields, Read},
    settings::ReplaceBy,
};

/// Checks which requests may replace which.
pub(super) fn replace(
    effective: &EffectiveFields<'_>,
    keys: Option<&KeyTemplates>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let rule = effective.rule;
    let replaces = rule.get("on_busy").filter(|read| read.word() == Some("replace"));
    let mut wrong = |read: &Read, what: &str, help: &str| {
        diagnostics.push(Diagnostic::new(read.span.clone(), what).help(help.to_owned()));
    };
    let Some(replaces) = replaces else {
        for name in ["replace_after", "replace_by"] {
            if let Some(read) = rule.get(name) {
                let what = format!("`{name}` without `on_busy = \"replace\"` has no effect");
                wrong(read, &what, "add it, or leave this out");
            }
        }
        return;
    };
    if effective.of_attribute {
        let help = "the attribute says by itself which calls may: `on_busy = \"replace\", replace_by = ..`";
        wrong(replaces, "a rule for an attribute cannot let requests replace each other", help);
        return;
    }
    if let Some(mode) = effective.get("mode").filter(|mode| mode.word() == Some("read")) {
        wrong(mode, "a request that reads replaces no other one", "use mode \"write\" or \"auto\"");
    }
    if let Some(kind) =
        effective.get("kind").filter(|kind| kind.word() == Some(Kind::Semaphore.as_str()))
    {
        wrong(
            kind,
            "a permit is not replaced: others have permits at the same time",
            "use another kind",
        );
    }
    if rule.get("keys").or(rule.get("locks")).is_some() {
        wrong(replaces, "a request is replaced under one key", "write `key`, and one template");
    }
    let shared = effective.get("on_missing_key").filter(|read| read.table().is_some());
    let by_principal = rule.text("replace_by").is_some_and(|text| text.value != "anyone");
    if let Some(shared) = shared.filter(|_| by_principal) {
        let what = "requests without a principal would replace those of the one with this key";
        wrong(shared, what, "refuse or skip them, or write replace_by = \"anyone\"");
    }
    match rule.text("replace_by") {
        // Its own error was reported.
        None if rule.written.contains(&"replace_by") => {}
        None => wrong(
            replaces,
            "it is not said which requests may cancel another one",
            "add the placeholder of the key that names the principal, such as replace_by = \
             \"claim.sub\"; or replace_by = \"anyone\", if any sender that can name the key may",
        ),
        Some(text) if keys.is_some_and(|keys| !keys.fits(&ReplaceBy::parse(&text.value))) => {
            diagnostics.push(
                Diagnostic::new(text.span.clone(), "this is no placeholder of the key, or has a default").help(
                    "requests of two principals would replace each other: write it into the key, or \
                     replace_by = \"anyone\""
                        .to_owned(),
                ),
            );
        }
        Some(_) => {}
    }
}

/// Each rule says by itself that its requests replace each other, and which may.
pub(crate) fn not_by_default(defaults: &Fields, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(read) = defaults.get("on_busy").filter(|read| read.word() == Some("replace")) {
        diagnostics.push(
            Diagnostic::new(read.span.clone(), "requests do not replace each other by default")
                .help(
                    "write it into the rules for which it is meant, with `replace_by`".to_owned(),
                ),
        );
    }
}
