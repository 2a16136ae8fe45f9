use lock_core::{Kind, Mode};
use lock_policy::__private::LockName;

/// The description of a lock in logs, metrics, spans and problem documents. Never contains its key.
#[derive(Debug, Clone)]
pub(crate) struct LockLabel {
    pub(crate) name: LockName,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
}
