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
        for new in after.rules().iter().filter(|new| succeeds(old, new)) {
            let mut what = differences(old, new).join(", ");
            if what.is_empty() || after.allows_change(&new.name) {
                continue;
            }
            if new.name != old.name {
                what = format!("{what}; before: `{}`", old.name);
            }
            changes.push(ExclusionChange { policy: new.name.to_string(), what });
        }
    }
    changes
}

/// Whether a rule replaces an older one: it has the same name, or is for the same requests. An older rule that
/// moved to other requests may leave its own to another.
fn succeeds(old: &Rule, new: &Rule) -> bool {
    new.name == old.name || new.matcher.matches_as(&old.matcher)
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
