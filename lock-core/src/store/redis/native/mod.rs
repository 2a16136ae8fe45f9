//! Our own wire on Redis: one value holds a lock, and a free lock has no key.

mod counter;
mod encode;
mod free_value;
mod key_names;
mod scripts;
mod tried;
mod writer;
#[cfg(test)]
mod writer_tests;

pub(crate) use encode::NativeWire;
#[cfg(feature = "test-util")]
pub use scripts::SCRIPTS as NATIVE_SCRIPTS;
pub(crate) use tried::Tried;
pub(crate) use writer::Writer;
