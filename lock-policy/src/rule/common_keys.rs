//! Finds keys that two templates of a file both give.
//!
//! `user-{id}` and `user-{id}-cart` do: a client that names its user `7-cart` locks the cart of
//! user 7.

use std::borrow::Cow;

use lock_core::Kind;
use lock_key::{Segment, Template};

use super::{
    Rule,
    effective_fields::EffectiveFields,
    keys::{constant, templates},
};
use crate::{
    diagnostics::Diagnostic,
    read::{Fields, Text},
};

/// A key of the file: a template, or what requests without a value share.
struct RuleKey<'f> {
    rule: &'f Rule,
    kind: Kind,
    template: Cow<'f, Template>,
    text: &'f Text,
    is_constant: bool,
}

pub(crate) fn check(
    rules: &[(Rule, &Fields)],
    defaults: Option<&Fields>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut earlier: Vec<RuleKey<'_>> = Vec::new();
    for (rule, fields) in rules {
        let effective = EffectiveFields { rule: fields, defaults, of_attribute: false };
        let of_rule = rule.kind.unwrap_or_default();
        let keys = templates(rule, fields).map(|(key, text)| {
            let kind = key.own().map_or(of_rule, |own| own.kind);
            RuleKey {
                rule,
                kind,
                template: Cow::Borrowed(key.template()),
                text,
                is_constant: false,
            }
        });
        let constant = constant(rule, &effective).map(|(key, text)| {
            let template = Cow::Owned(key);
            RuleKey { rule, kind: of_rule, template, text, is_constant: true }
        });
        for this in keys.chain(constant) {
            diagnostics.extend(earlier.iter().filter_map(|other| common(other, &this)));
            earlier.push(this);
        }
    }
}

fn common(earlier: &RuleKey<'_>, this: &RuleKey<'_>) -> Option<Diagnostic> {
    let [kind, other] = [this, earlier].map(|key| key.kind);
    // A constant may be meant to be a key of the template.
    let is_meant = this.is_constant
        || earlier.is_constant
        || have_one_shape(&earlier.template, &this.template);
    if kind == other && is_meant {
        return None;
    }
    let key = earlier.template.common_key(&this.template)?;
    let (key, name) = (key.escape_debug(), &earlier.rule.name);
    let span = this.text.span.clone();
    let diagnostic = if kind == other {
        let what = format!("this key and one of the rule \"{name}\" can be the same: `{key}`");
        Diagnostic::warning(span, what).help(
            "begin the keys with different words and separate their parts by `:`, which no value \
             contains, or write the types of the placeholders"
                .to_owned(),
        )
    } else {
        let what = format!(
            "the rule \"{name}\" can lock the same key as another kind of lock: `{key}` is \
             {other} there and {kind} here"
        );
        let help = "all users of a key have one kind: give both rules the same, or different keys";
        Diagnostic::new(span, what).help(help.to_owned())
    };
    Some(diagnostic.related(earlier.text.span.clone(), &format!("the key of \"{name}\"")))
}

/// Whether only names and types of placeholders differ, as between rules that are to exclude each
/// other.
fn have_one_shape(one: &Template, other: &Template) -> bool {
    let same = |pair: (&Segment, &Segment)| match pair {
        (Segment::Literal(one), Segment::Literal(other)) => one == other,
        (Segment::Placeholder(_), Segment::Placeholder(_)) => true,
        _ => false,
    };
    let (one, other) = (one.segments(), other.segments());
    one.len() == other.len() && one.iter().zip(other).all(same)
}
