use lock_core::{Kind, Mode};
use lock_policy::__private::Name;

/// What logs, metrics, spans and problem documents say of a lock: never its key.
#[derive(Debug, Clone)]
pub(crate) struct LockLabel {
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
}
