//! The locks of a rule that has several of different kinds.

use lock_key::Template;

use super::{
    effective_fields::{EffectiveFields, at_most_u32},
    validate,
};
use crate::{
    diagnostics::Diagnostic,
    key::{LockTemplate, TemplateLock},
    read::{Fields, Text},
    schema::OF_EACH_LOCK,
    settings::LockMode,
};

/// Returns the locks of a rule with `locks`, and reports what is wrong with them, except their templates;
/// `None` for another rule.
pub(super) fn locks(
    effective: &EffectiveFields<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<LockTemplate>> {
    let rule = effective.rule;
    let read = rule.get("locks")?;
    for name in OF_EACH_LOCK {
        if let Some(of_rule) = rule.get(name) {
            let what = format!("`locks` and `{name}` are both given");
            diagnostics.push(
                Diagnostic::new(of_rule.key.clone(), what)
                    .related(read.key.clone(), "the locks")
                    .help(match name {
                        "permits_for" => "leave it out: each lock has one number".to_owned(),
                        _ => format!("write `{name}` into the lock that it is meant for"),
                    }),
            );
        }
    }
    if let Some(shared) = effective.get("on_missing_key").filter(|read| read.table().is_some()) {
        let what = "a constant key is of one lock, and this rule has several";
        diagnostics.push(
            Diagnostic::new(shared.span.clone(), what).related(read.key.clone(), "the locks").help(
                "refuse or skip such requests, or write a default into the template".to_owned(),
            ),
        );
    }
    let mut locks: Vec<(LockTemplate, &Text)> = Vec::new();
    for fields in rule.tables("locks") {
        let lock = EffectiveFields { rule: fields, defaults: None, of_attribute: false };
        validate::lock(&lock, diagnostics);
        let Some(text) = fields.text("key") else { continue };
        let lock = LockTemplate::of(text.value.clone(), template_lock(&lock));
        two_kinds(&locks, (&lock, text), diagnostics);
        locks.push((lock, text));
    }
    Some(locks.into_iter().map(|(lock, _)| lock).collect())
}

fn template_lock(fields: &EffectiveFields<'_>) -> TemplateLock {
    TemplateLock {
        kind: fields.word("kind").and_then(|word| word.parse().ok()).unwrap_or_default(),
        mode: fields.word("mode").map_or(LockMode::ByMethod, LockMode::of_word),
        permits: fields.count("permits").map_or(0, at_most_u32),
        weight: fields.count("weight").map_or(1, at_most_u32),
    }
}

/// Reports a key that two locks of one rule can have, as two kinds.
fn two_kinds(
    earlier: &[(LockTemplate, &Text)],
    (this, text): (&LockTemplate, &Text),
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (other, before) in
        earlier.iter().filter(|(other, _)| other.kind_of_lock() != this.kind_of_lock())
    {
        let [Ok(one), Ok(two)] = [before, text].map(|text| Template::parse(&text.value)) else {
            continue;
        };
        let Some(key) = one.common_key(&two).filter(|_| before.value != text.value) else {
            continue;
        };
        let [kind, other] = [this.kind_of_lock(), other.kind_of_lock()];
        let what = format!(
            "two locks can have the same key: `{}` is {other} above and {kind} here",
            key.escape_debug()
        );
        diagnostics.push(
            Diagnostic::new(text.span.clone(), what)
                .related(before.span.clone(), "the other lock")
                .help("begin the keys with different words".to_owned()),
        );
    }
}

/// Whether a rule says for each of its locks which it is.
pub(super) fn are_in(rule: &Fields) -> bool {
    rule.written.contains(&"locks")
}
