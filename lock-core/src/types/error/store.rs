//! A store's answer, as the error of each operation.

use lock_store::StoreError;

use super::{AcquireError, DowngradeError, InspectError, ParkError, ResumeError, UpgradeError};

/// The errors of operations that a store may not support.
macro_rules! from_store_error {
    ($($error:ident)*) => {
        $(impl From<StoreError> for $error {
            fn from(error: StoreError) -> Self {
                match error {
                    StoreError::Unavailable(why) => Self::Unavailable(why),
                    StoreError::Unsupported(what) => Self::Unsupported(what),
                }
            }
        })*
    };
}

from_store_error! { AcquireError UpgradeError DowngradeError InspectError ParkError ResumeError }
