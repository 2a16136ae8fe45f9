//! The two wires on Redis.

use std::time::Duration;

use clap::ValueEnum;
use lock_core::{LockClient, LockClientBuilder};

/// Longer than any lease: no watchdog of Redisson's cuts the reads of a test.
const NO_JAVA: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How locks stand in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    /// The default.
    Native,
    /// Redisson's, under the prefix and with the tokens that expire of earlier versions.
    Redisson,
}

impl Wire {
    /// For what is promised on both.
    pub const BOTH: [Self; 2] = [Self::Native, Self::Redisson];

    /// As a program's argument has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Redisson => "redisson",
        }
    }

    /// Settings of a client on this wire.
    pub fn builder(self) -> LockClientBuilder {
        self.on(LockClient::builder())
    }

    /// The same settings on this wire.
    pub fn on(self, builder: LockClientBuilder) -> LockClientBuilder {
        match self {
            Self::Native => builder,
            Self::Redisson => {
                let builder = builder.redisson().prefix("lock:").permanent_tokens(false);
                builder.redisson_watchdog(NO_JAVA)
            }
        }
    }
}

/// Makes of each function that takes a [`Wire`] a test on either wire. In front of their names may stand
/// arguments of `tokio::test`, in parentheses.
#[macro_export]
macro_rules! on_every_wire {
    ($arguments:tt: $($test:ident)*) => {
        mod native {
            $(#[tokio::test $arguments]
            async fn $test() {
                super::$test($crate::Wire::Native).await;
            })*
        }
        mod redisson {
            $(#[tokio::test $arguments]
            async fn $test() {
                super::$test($crate::Wire::Redisson).await;
            })*
        }
    };
    ($($test:ident)*) => { $crate::on_every_wire! { (): $($test)* } };
}
