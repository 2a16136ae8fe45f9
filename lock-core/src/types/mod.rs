//! Plain values that every folder above uses.

mod as_json;
mod call_site;
mod error;
mod health;
mod inspection;
mod lock_name;
mod log_hash;
mod observer;
mod options;
mod statistics;
mod ticket;
mod work;

pub(crate) use call_site::CallSite;
pub use error::{
    AcquireError, Busy, BusyHolder, Deadlock, DowngradeError, EnsureError, InspectError,
    InvalidTicket, LockError, Lost, LostCause, OnceError, Overloaded, ParkError, ReleaseError,
    ResumeError, ShutdownError, UpgradeError, WrongKind,
};
pub use health::{Health, LeaderStatus, LeaseState};
pub use inspection::{HolderInfo, Inspection, KeyList, RecentEvents, WaiterInfo};
pub use lock_name::LockName;
pub(crate) use log_hash::LogHash;
pub(crate) use observer::Observer;
pub use observer::{
    GrantedEvent, LockEvent, LockObserver, LostEvent, ObservedLock, ReconnectedEvent, RefusedEvent,
    ReleasedEvent,
};
pub use options::AcquireOptions;
pub(crate) use options::{
    ClientConfig, HoldOptions, MAX_LOCAL_HANDOFFS, MAX_SHARED_READERS, Replace, SLOT_MARK,
    check_hold_options, check_lease,
};
pub use statistics::{ClientStatistics, HotKey, RoundTrips};
pub use ticket::HoldTicket;
pub(crate) use ticket::{ParkedHold, TicketKey};
pub(crate) use work::MOST_KEYS;
pub use work::{WorkInfo, WorkOrigin};
