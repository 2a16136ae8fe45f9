//! A policy file's rules for attributes, by name.

use std::{
    collections::HashMap,
    sync::{Arc, Once},
};

use lock_core::{Kind, Mode};
use lock_policy::{__private::LockSettings, LockMode};

use super::policy::Policy;
#[cfg(feature = "policy")]
use crate::outcome::hold_time;

/// The rules of one file and, where policy layers are nested, of the outer files.
#[derive(Debug, Default)]
pub(crate) struct AttributeRules {
    rules: Arc<HashMap<Arc<str>, AttributeRule>>,
    around: Option<Arc<AttributeRules>>,
}

#[derive(Debug)]
pub(crate) struct AttributeRule {
    /// `None` for the kind in the code.
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Option<LockMode>,
    pub(crate) policy: Policy,
    /// Whether it is logged that the rule has no effect: on an attribute whose locks have kinds that it
    /// cannot change, or whose name it has only the end of.
    pub(crate) noted: Once,
}

/// Returns the rule for the named attribute, from this file or one further out.
pub(crate) fn find<'r>(
    rules: Option<&'r Arc<AttributeRules>>,
    name: &str,
) -> Option<&'r AttributeRule> {
    let mut next = rules;
    while let Some(rules) = next {
        if let Some(rule) = rules.rules.get(name) {
            return Some(rule);
        }
        next = rules.around.as_ref();
    }
    #[cfg(feature = "policy")]
    if let Some(rules) = rules {
        rules.log_end_of(name);
    }
    None
}

#[cfg_attr(not(feature = "axum"), allow(dead_code))]
impl AttributeRules {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &AttributeRule)> {
        self.rules.iter().map(|(name, rule)| (&**name, rule))
    }

    /// Whether any rule, including those of outer files, has a fallback function.
    pub(crate) fn has_fallbacks(&self) -> bool {
        self.iter().any(|(_, rule)| !rule.policy.fallbacks.is_empty())
            || self.around.as_ref().is_some_and(|around| around.has_fallbacks())
    }
}

#[cfg(feature = "policy")]
impl AttributeRules {
    /// Creates the rules of one file.
    pub(crate) fn of(rules: HashMap<Arc<str>, AttributeRule>) -> Self {
        Self { rules: Arc::new(rules), around: None }
    }

    /// Logs rules that seem to be for this attribute, which has none: their name is the end of its name,
    /// without the crate, and no other attribute has run under it.
    fn log_end_of(&self, attribute: &str) {
        for (name, rule) in self.iter() {
            let is_end = attribute.strip_suffix(name).is_some_and(|begin| begin.ends_with("::"));
            if is_end && !hold_time::knows_attribute(name) {
                rule.noted.call_once(|| {
                    tracing::warn!(
                        policy = &*rule.policy.name,
                        "the attribute `{attribute}` runs without this rule, whose `match` has only the end \
                         of its name: write the whole name if it is meant"
                    );
                });
            }
        }
    }

    /// Returns the combined rules where the file of `rules` is used inside another.
    pub(crate) fn inside(rules: &Arc<Self>, around: Option<Arc<Self>>) -> Arc<Self> {
        match around {
            None => Arc::clone(rules),
            around => Arc::new(Self { rules: Arc::clone(&rules.rules), around }),
        }
    }
}

impl AttributeRule {
    /// Applies this rule to an attribute's policy: the file's settings override the code's.
    pub(crate) fn over(&self, code: &Policy) -> Policy {
        let LockSettings { permits, weight, .. } = self.policy.settings;
        let changes = self.kind.is_some() || self.mode.is_some() || permits.or(weight).is_some();
        if code.kind.is_none() && changes {
            self.noted.call_once(|| {
                tracing::error!(
                    policy = &*self.policy.name,
                    "the rule's `kind`, `mode`, `permits` and `weight` have no effect: the attribute has \
                     several locks (`all(..)`), each with its own; leave them out of the rule"
                );
            });
        }
        Policy {
            kind: code.kind.map(|kind| self.kind.unwrap_or(kind)),
            settings: self.policy.settings.clone().or(&code.settings),
            ..self.policy.clone()
        }
    }

    pub(crate) fn mode(&self, code: &Policy, of_code: Mode) -> Mode {
        match self.mode.filter(|_| code.kind.is_some()) {
            Some(LockMode::Read) => Mode::Read,
            Some(LockMode::Write) => Mode::Write,
            // A function has no request method.
            _ => of_code,
        }
    }
}
