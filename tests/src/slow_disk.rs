//! A server's disk that takes its time.

use std::time::Duration;

use crate::{ZooKeeperServerBuilder, preloaded::PreloadedLibrary};

/// Delays every `fsync` of servers that were [started with it](Self::of), with a small library that is
/// compiled for it and preloaded before their C library. For Linux; it needs a C compiler.
#[derive(Debug)]
pub struct SlowDisk(PreloadedLibrary);

impl SlowDisk {
    /// Creates disks that are as fast as the machine's.
    pub fn new() -> Self {
        Self(PreloadedLibrary::compile(include_str!("slow_disk.c"), "SLOW_DISK"))
    }

    /// Returns a builder for servers whose disks follow this.
    #[must_use]
    pub fn of(&self, server: ZooKeeperServerBuilder) -> ZooKeeperServerBuilder {
        let environment = self.0.environment().into_iter();
        environment.fold(server, |server, (name, value)| server.env(name, value))
    }

    /// Sets how much longer every `fsync` takes from now on.
    pub fn by(&self, delay: Duration) {
        self.0.set(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX));
    }
}

impl Default for SlowDisk {
    fn default() -> Self {
        Self::new()
    }
}
