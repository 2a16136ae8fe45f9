//! Plain values that every folder above uses.

pub(crate) mod call_site;
pub(crate) mod error;
pub(crate) mod fencing_token;
mod health;
mod inspection;
mod key;
pub(crate) mod kind;
pub(crate) mod lease;
pub(crate) mod mode;
pub(crate) mod owner;

pub(crate) use call_site::CallSite;
pub use error::{
    AcquireError, Busy, DowngradeError, InspectError, InvalidOptions, LockError, Lost, LostCause,
    Overloaded, ReleaseError, ShutdownError, StoreError, Unavailable, Unsupported, UpgradeError,
    WrongKind,
};
pub use fencing_token::FencingToken;
pub use health::{Health, LeaseState};
pub use inspection::{ClientInfo, ForcedRelease, HolderInfo, Inspection, KeyList, WaiterInfo};
pub use key::{IntoLockKey, KeyError, LockKey};
pub use kind::{Kind, UnknownKind};
pub use lease::{DEFAULT_LEASE, MAX_LEASE, MIN_LEASE};
pub use mode::Mode;
pub use owner::OwnerId;
pub(crate) use owner::{ClientId, Owners};
