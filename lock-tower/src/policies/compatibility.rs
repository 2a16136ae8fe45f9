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
    let found = [("key", keys), ("kind", kind(old) != kind(new)), ("mode", mode(old) != mode(new))];
    found.into_iter().filter_map(|(what, differs)| differs.then_some(what)).collect()
}

/// Returns the rule's kind; `None` if the code decides it, which is unknown here.
fn kind(rule: &Rule) -> Option<Kind> {
    match rule.matcher {
        Matcher::Attribute(_) => rule.kind,
        Matcher::Route(_) => Some(rule.kind.unwrap_or_default()),
    }
}

/// Returns the rule's mode; `None` if the code decides it, as `auto` does for an attribute too.
fn mode(rule: &Rule) -> Option<LockMode> {
    match rule.matcher {
        Matcher::Attribute(_) => rule.mode.filter(|mode| *mode != LockMode::ByMethod),
        Matcher::Route(_) => Some(rule.mode.unwrap_or_default()),
    }
}
