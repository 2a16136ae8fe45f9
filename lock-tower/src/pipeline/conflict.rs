//! Describes contradicting locks of one request, for the engineer that configured them.

use lock_core::{AcquireError, Mode};
use lock_policy::__private::RequestKey;

use crate::{
    lock_settings::policy::Policy,
    request::context::{Enclosing, RequestContext},
};

/// Describes the conflict between the policy's locks on these keys and those around them. `None` if the error
/// has another reason.
pub(crate) fn describe(
    context: &RequestContext,
    policy: &Policy,
    keys: &[RequestKey],
    error: &AcquireError,
) -> Option<String> {
    let name = &policy.name;
    Some(match error {
        AcquireError::ReadHeld { key } => {
            let outer = called(context.enclosing(key, |lock| lock.mode == Mode::Read));
            format!(
                "{outer} reads the key that `{name}` is to write in the same request, which \
                 would wait for itself forever: make the outer lock a write lock, or the inner one \
                 a read lock"
            )
        }
        AcquireError::AlreadyHeld { key } => {
            let outer = called(context.enclosing(key, |_| true));
            let own = keys.iter().find(|known| known.key == *key).and_then(|known| known.own);
            let kind = own.unwrap_or(policy.lock(Mode::Write)).kind;
            format!(
                "{outer} already holds the key of `{name}` in the same request; a {kind} lock \
                 would wait for itself forever: lock the key once, or use a reentrant kind"
            )
        }
        AcquireError::WrongKind(wrong) => {
            let kind = wrong.kind();
            let found = context.enclosing(wrong.key(), |lock| lock.kind != kind)?;
            let (outer, other) = (called(Some(found)), found.0.lock_on(found.1).kind);
            format!(
                "{outer} takes the key as a {other} lock and `{name}` as a {kind} lock in the same \
                 request: give both the same kind, or different keys"
            )
        }
        _ => return None,
    })
}

/// Returns the outer lock's name and, where the name does not show it already, its key's template.
/// Never contains the key, which may be personal data.
fn called(outer: Option<(&Enclosing, &RequestKey)>) -> String {
    let Some((Enclosing { name, .. }, key)) = outer else {
        return "an acquisition further out".to_owned();
    };
    match &key.template {
        Some(template) if **template != **name => format!("`{name}` (key `{template}`)"),
        _ => format!("`{name}`"),
    }
}
