//! The program `lockctl` is in `main.rs`. This library is for its tests: it may change at any time.

#[doc(hidden)]
pub mod observed;
