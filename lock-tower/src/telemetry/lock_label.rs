use lock_core::{Kind, Mode};
use lock_policy::__private::LockName;

/// What logs, metrics, spans and problem documents say of a lock: never its key.
#[derive(Debug, Clone)]
pub(crate) struct LockLabel {
    pub(crate) name: LockName,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
}
