//! The program `lockctl` is in `main.rs`. This is what its tests need: it may change at any time.

#[doc(hidden)]
pub mod observed;
