//! Whether holders under two versions of a rule exclude each other.

use lock_core::Kind;
use lock_policy::{
    __private::{Matcher, Rule},
    LockMode, PolicyFile,
};

use super::{error::ExclusionChange, version::Version};

/// Returns what would no longer exclude holders under the version in force, except what the new
/// file allows by name.
pub(super) fn changes(before: &Version, after: &PolicyFile) -> Vec<ExclusionChange> {
    let mut changes = Vec::new();
    for old in before.file.rules() {
        let Some(new) = successor(old, after) else { continue };
        let mut what = differences(old, new).join(", ");
        if what.is_empty() || after.allows_change(&new.name) {
            continue;
        }
        if new.name != old.name {
            what = format!("{what}; before: `{}`", old.name);
        }
        changes.push(ExclusionChange { policy: new.name.to_string(), what });
    }
    changes
}

/// Returns the rule that replaces this one: the rule with the same name, or else one for the same
/// requests.
fn successor<'f>(old: &Rule, after: &'f PolicyFile) -> Option<&'f Rule> {
    let find = |is: &dyn Fn(&Rule) -> bool| after.rules().iter().find(|new| is(new));
    find(&|new| new.name == old.name).or_else(|| find(&|new| new.matcher == old.matcher))
}

/// Returns the rules of the old version whose names are missing in the new file.
pub(super) fn removed_rules<'f>(before: &'f PolicyFile, after: &PolicyFile) -> Vec<&'f str> {
    before.names().filter(|name| !after.names().any(|known| known == *name)).collect()
}

fn differences(old: &Rule, new: &Rule) -> Vec<&'static str> {
    let same_keys = match (&old.keys, &new.keys) {
        (Some(old), Some(new)) => new.give_the_keys_of(old),
        (old, new) => old.is_none() && new.is_none(),
    };
    let keys = !same_keys || old.on_missing_key != new.on_missing_key;
    let locks = || locks(old).into_iter().zip(locks(new));
    let kind = locks().any(|((old, _), (new, _))| old != new);
    let mode = locks().any(|((_, old), (_, new))| old != new);
    let found = [("key", keys), ("kind", kind), ("mode", mode)];
    found.into_iter().filter_map(|(what, differs)| differs.then_some(what)).collect()
}

/// Returns the kind and the mode of each key of the rule; `None` if the code decides it, which is unknown
/// here. Of an attribute it decides a mode of `auto` too.
fn locks(rule: &Rule) -> Vec<(Option<Kind>, Option<LockMode>)> {
    match (&rule.matcher, &rule.keys) {
        (Matcher::Attribute(_), _) | (_, None) => {
            vec![(rule.kind, rule.mode.filter(|mode| *mode != LockMode::ByMethod))]
        }
        (Matcher::Route(_), Some(keys)) => {
            let of_rule = (rule.kind.unwrap_or_default(), rule.mode.unwrap_or_default());
            let locks = keys.kinds_and_modes().map(|own| own.unwrap_or(of_rule));
            locks.map(|(kind, mode)| (Some(kind), Some(mode))).collect()
        }
    }
}
