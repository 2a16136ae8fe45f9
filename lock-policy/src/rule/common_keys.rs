//! Finds keys that two templates of a file both give.
//!
//! `user-{id}` and `user-{id}-cart` do: a client that names its user `7-cart` locks the cart of
//! user 7.

use std::borrow::Cow;

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
        let keys = templates(rule, fields).map(|(key, text)| (Cow::Borrowed(key), text, false));
        let constant = constant(rule, &effective).map(|(key, text)| (Cow::Owned(key), text, true));
        for (template, text, is_constant) in keys.chain(constant) {
            let this = RuleKey { rule, template, text, is_constant };
            diagnostics.extend(earlier.iter().filter_map(|other| common(other, &this)));
            earlier.push(this);
        }
    }
}

fn common(earlier: &RuleKey<'_>, this: &RuleKey<'_>) -> Option<Diagnostic> {
    let [kind, other] = [this, earlier].map(|key| key.rule.kind.unwrap_or_default());
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
