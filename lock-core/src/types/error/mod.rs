//! What can go wrong, one file for each operation, and what may be assumed about the lock then.

mod acquire;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod connect;
mod ensure;
mod inspect;
mod invalid_options;
mod lock;
mod lost;
mod mode_change;
mod park;
mod release;
mod shutdown;
mod store;
mod unavailable;
mod wrong_kind;

pub use acquire::{AcquireError, Busy, BusyHolder, Deadlock, Overloaded};
#[cfg(any(feature = "redis", feature = "zookeeper"))]
pub use connect::ConnectError;
pub use ensure::EnsureError;
pub use inspect::InspectError;
pub use invalid_options::InvalidOptions;
pub use lock::LockError;
pub use lost::{Lost, LostCause};
pub use mode_change::{DowngradeError, UpgradeError};
pub use park::{InvalidTicket, ParkError, ResumeError};
pub use release::ReleaseError;
pub use shutdown::ShutdownError;
pub use store::{StoreError, Unsupported};
pub use unavailable::Unavailable;
pub use wrong_kind::WrongKind;
