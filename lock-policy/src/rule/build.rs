//! Builds rules from the values read, and collects the errors of each rule.

use std::sync::Arc;

use lock_core::LockKey;

use super::{
    Rule, effective_fields::EffectiveFields, keys::keys, permits_for::permits_for,
    replace::replace, routes::route,
};
use crate::{
    diagnostics::{Diagnostic, SourceFile},
    matching::{Matcher, RouteMatch},
    read::{Fields, Text},
    schema::Table,
    settings::{LockMode, OnMissingKey},
};

/// Builds a rule; `None` if it has an error, here or from reading.
pub(crate) fn rule(
    fields: &Fields,
    defaults: Option<&Fields>,
    source: &SourceFile,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Rule> {
    let before = diagnostics.len();
    let found = fields.table("match")?;
    let attribute = found.text("attribute");
    let effective = EffectiveFields { rule: fields, defaults, of_attribute: attribute.is_some() };
    let route = match attribute {
        Some(_) => {
            not_on_attributes(fields, found, diagnostics);
            RouteMatch::default()
        }
        None => route(found, diagnostics),
    };
    let keys = if attribute.is_none() { keys(&effective, &route, diagnostics) } else { None };
    let name = fields.text("name").and_then(|text| name(text, diagnostics));
    let on_missing_key = on_missing_key(&effective, diagnostics);
    replace(&effective, keys.as_ref(), diagnostics);
    let permits_for = permits_for(&effective, diagnostics);
    let matcher = match attribute {
        Some(name) => Matcher::Attribute(name.value.as_str().into()),
        None => Matcher::Route(route),
    };
    let rule = Rule {
        name: name?,
        matcher,
        kind: effective.word("kind").and_then(|word| word.parse().ok()),
        mode: effective.word("mode").map(LockMode::of_word),
        keys: keys.map(Arc::new),
        on_missing_key,
        permits_for,
        settings: effective.settings(),
        line: source.place(fields.span.start).line,
        origins: effective.origins(source),
    };
    (diagnostics.len() == before && fields.is_whole).then_some(rule)
}

fn not_on_attributes(rule: &Fields, found: &Fields, diagnostics: &mut Vec<Diagnostic>) {
    for (field, why) in
        Table::Policy.fields().filter_map(|field| Some((field.name, field.not_on_attributes?)))
    {
        if let Some(read) = rule.get(field) {
            let what = format!("a rule for an attribute cannot have `{field}`");
            diagnostics.push(Diagnostic::new(read.key.clone(), what).help(why.to_owned()));
        }
    }
    for (name, read) in found.read.iter().filter(|(name, _)| **name != "attribute") {
        let what = format!("a rule for an attribute cannot have `{name}`");
        let help = "an attribute is matched by its name, not by the request";
        diagnostics.push(Diagnostic::new(read.key.clone(), what).help(help.to_owned()));
    }
}

fn name(text: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Arc<str>> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let bad = text.value.char_indices().find(|(_, c)| !legal(*c));
    if bad.is_none() && text.value.len() <= 64 {
        return Some(text.value.as_str().into());
    }
    let span = bad.map_or(text.span.clone(), |(at, c)| text.part(at..at + c.len_utf8()));
    let what = match bad {
        Some((_, c)) => format!("a rule's name cannot have `{}`", c.escape_debug()),
        None => "this name is too long".to_owned(),
    };
    let help = "it is a label in metrics: 1 to 64 of `A-Z a-z 0-9 . _ : -`";
    diagnostics.push(Diagnostic::new(span, what).help(help.to_owned()));
    None
}

fn on_missing_key(
    effective: &EffectiveFields<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> OnMissingKey {
    let Some(read) = effective.get("on_missing_key") else {
        return OnMissingKey::Reject;
    };
    if let Some(constant) = read.table().and_then(|fields| fields.text("constant")) {
        match LockKey::try_from(constant.value.as_str()) {
            Ok(key) => return OnMissingKey::Constant(key),
            Err(error) => {
                diagnostics.push(Diagnostic::new(constant.span.clone(), error.to_string()))
            }
        }
    }
    if read.word() == Some("skip") { OnMissingKey::Skip } else { OnMissingKey::Reject }
}
