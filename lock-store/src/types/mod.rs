//! Plain values: data without behaviour.

mod fencing_token;
mod inspection;
mod invalid_options;
mod key;
mod kind;
pub mod lease;
mod mode;
mod owner;
mod store_error;
mod time_text;
mod unavailable;
mod visible;

pub use fencing_token::FencingToken;
pub use inspection::{ClientInfo, ForcedRelease, KeyPage};
pub use invalid_options::InvalidOptions;
pub use key::{IntoLockKey, KeyError, LockKey};
pub use kind::{Kind, UnknownKind};
pub use mode::Mode;
pub use owner::{ClientId, OwnerId, Owners};
pub use store_error::{StoreError, Unsupported};
pub use time_text::time_text;
pub use unavailable::Unavailable;
pub use visible::{misleads, visible};
