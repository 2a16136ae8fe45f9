//! The settings in force for an attribute: its own, overridden by a policy file.

use std::sync::Arc;

use lock_core::{__private::Spec, Mode};
use lock_policy::{
    __private::{LockName, LockSettings},
    OnBusy, ReplaceBy,
};

use crate::{
    lock_settings::{
        attribute_rules::{self, AttributeRules},
        policy::Policy,
    },
    outcome::hold_time,
    telemetry::metrics,
};

/// Returns the settings in force for an attribute.
pub(super) fn in_force(rules: Option<&Arc<AttributeRules>>, spec: &Spec) -> (Policy, Mode) {
    let begin = || metrics::begin(&LockName::from(spec.name), &[spec.mode]);
    let holds = hold_time::of_attribute(spec.name, begin);
    let settings = LockSettings {
        wait: spec.wait,
        lease: spec.lease,
        max_hold: spec.max_hold,
        hold_at_least: spec.hold_at_least,
        on_busy: spec.replace_after.map(|_| OnBusy::Replace),
        replace_after: spec.replace_after,
        // The attribute was checked when it was compiled.
        replace_by: spec.replace_after.map(|_| ReplaceBy::Anyone),
        renew: spec.renew,
        permits: spec.permits,
        weight: spec.weight,
        ..LockSettings::default()
    };
    let code = Policy { settings, holds, ..Policy::new(LockName::from(spec.name), spec.kind) };
    match attribute_rules::find(rules, spec.name) {
        Some(rule) => (rule.over(code), rule.mode(spec.mode)),
        None => (code, spec.mode),
    }
}
