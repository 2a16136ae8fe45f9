//! Errors, one file for each operation. Each says whether the lock may be held afterwards.

mod acquire;
mod ensure;
mod inspect;
mod lock;
mod lost;
mod mode_change;
mod once;
mod park;
mod release;
mod shutdown;
mod store;
mod wrong_kind;

pub use acquire::{AcquireError, Busy, BusyHolder, Deadlock, Overloaded};
pub use ensure::EnsureError;
pub use inspect::InspectError;
pub use lock::LockError;
pub use lost::{Lost, LostCause};
pub use mode_change::{DowngradeError, UpgradeError};
pub use once::OnceError;
pub use park::{InvalidTicket, ParkError, ResumeError};
pub use release::ReleaseError;
pub use shutdown::ShutdownError;
pub use wrong_kind::WrongKind;
