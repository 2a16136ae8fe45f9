//! The code that readers of `docs/migrating` copy, and replicas of a service that use it.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "small programs to copy, explained in the guide"
)]

mod replica;

pub use replica::{OldKind, Replica, Undone, Version};

/// The old lock is hand-rolled.
pub mod hand_rolled {
    #[path = "../both.rs"]
    mod both;
    mod old_lock;

    pub use both::{Both, BothError};
    pub use old_lock::{OldError, OldLock, OldLocks};
}

/// The old lock is one of rslock.
#[allow(clippy::duplicate_mod, reason = "version 1 is the same text for both old locks")]
pub mod of_rslock {
    #[path = "../both.rs"]
    mod both;
    mod old_lock;

    pub use both::{Both, BothError};
    pub use old_lock::{OldError, OldLock, OldLocks};
}
