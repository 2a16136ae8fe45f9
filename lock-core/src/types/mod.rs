//! Plain values that every folder above uses.

mod as_json;
mod call_site;
mod error;
mod fencing_token;
mod health;
mod inspection;
mod key;
mod kind;
pub(crate) mod lease;
mod lock_name;
mod log_hash;
mod mode;
mod observer;
mod options;
mod owner;
mod statistics;
mod ticket;
mod visible;
mod work;

pub(crate) use call_site::CallSite;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
pub use error::ConnectError;
pub use error::{
    AcquireError, Busy, BusyHolder, Deadlock, DowngradeError, EnsureError, InspectError,
    InvalidOptions, InvalidTicket, LockError, Lost, LostCause, Overloaded, ParkError, ReleaseError,
    ResumeError, ShutdownError, StoreError, Unavailable, Unsupported, UpgradeError, WrongKind,
};
pub use fencing_token::FencingToken;
pub use health::{Health, LeaseState};
pub use inspection::{
    ClientInfo, ForcedRelease, HolderInfo, Inspection, KeyList, KeyPage, RecentEvents, WaiterInfo,
};
pub use key::{IntoLockKey, KeyError, LockKey};
pub use kind::{Kind, UnknownKind};
pub use lock_name::LockName;
pub(crate) use log_hash::LogHash;
pub use mode::Mode;
pub(crate) use observer::Observer;
pub use observer::{
    GrantedEvent, LockEvent, LockObserver, LostEvent, ObservedLock, ReconnectedEvent, RefusedEvent,
    ReleasedEvent,
};
#[cfg(any(feature = "redis", feature = "zookeeper"))]
pub(crate) use options::ConnectOptions;
pub(crate) use options::{
    AcquireOptions, ClientConfig, HoldOptions, MAX_LOCAL_HANDOFFS, MAX_SHARED_READERS,
    check_hold_options, check_lease,
};
pub use owner::OwnerId;
pub(crate) use owner::{ClientId, Owners};
pub use statistics::{ClientStatistics, HotKey, RoundTrips};
pub use ticket::HoldTicket;
pub(crate) use ticket::{ParkedHold, TicketKey};
pub use visible::{misleads, visible};
pub(crate) use work::MOST_KEYS;
pub use work::{WorkInfo, WorkOrigin};
