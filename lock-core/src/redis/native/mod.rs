//! Our own wire on Redis: one value holds a lock, and a free lock has no key.

mod encode;
mod free;
mod key_names;
mod scripts;
mod wire;
mod writer;
#[cfg(test)]
mod writer_tests;

pub(crate) use encode::NativeWire;
pub(crate) use free::Tried;
#[cfg(feature = "test-util")]
pub use scripts::SCRIPTS as NATIVE_SCRIPTS;
pub(crate) use writer::Writer;
