//! A server's wall clock that jumps.

use crate::{RedisServerBuilder, preloaded::PreloadedLibrary};

/// Moves the wall clocks of servers that were [started with it](Self::of), with a small library that
/// is compiled for it and preloaded before their C library. For Linux; it needs a C compiler.
#[derive(Debug)]
pub struct ClockShift(PreloadedLibrary);

impl ClockShift {
    /// Creates clocks that agree with the machine's.
    pub fn new() -> Self {
        Self(PreloadedLibrary::compile(include_str!("clock_shift.c"), "CLOCK_SHIFT"))
    }

    /// Returns a builder for a server whose clock follows this.
    #[must_use]
    pub fn of(&self, server: RedisServerBuilder) -> RedisServerBuilder {
        let environment = self.0.environment().into_iter();
        environment.fold(server, |server, (name, value)| server.env(name, value))
    }

    /// Sets the difference from the machine's clock, in seconds.
    pub fn by(&self, seconds: i64) {
        self.0.set(seconds);
    }
}

impl Default for ClockShift {
    fn default() -> Self {
        Self::new()
    }
}
