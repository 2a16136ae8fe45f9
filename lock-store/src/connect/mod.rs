//! Connecting to a store by a URL: options, errors and names that every such store has.

pub mod client_name;
mod error;
mod tls;

use std::{fmt, sync::Arc, time::Duration};

use crate::types::{InvalidOptions, lease::DEFAULT_COMMAND_TIMEOUT};
pub use error::ConnectError;
pub use tls::Tls;

/// The options with which a client connects to a store, whichever that is.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    pub prefix: String,
    pub connect_timeout: Duration,
    pub command_timeout: Duration,
    pub service: Option<String>,
    pub instance: Option<String>,
    /// Called with the time for which there was no connection, whenever there is one again.
    pub on_reconnect: OnReconnect,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            prefix: "lock:".to_owned(),
            connect_timeout: Duration::from_secs(2),
            command_timeout: DEFAULT_COMMAND_TIMEOUT,
            service: None,
            instance: None,
            on_reconnect: OnReconnect::default(),
        }
    }
}

impl ConnectOptions {
    pub fn check(&self) -> Result<(), InvalidOptions> {
        const MAX_PREFIX: usize = 64;
        let odd = |c: char| c.is_control() || c == '{' || c == '}';
        if self.prefix.len() > MAX_PREFIX || self.prefix.contains(odd) {
            return Err(InvalidOptions::new(format!(
                "the prefix {:?} is not usable: at most {MAX_PREFIX} bytes, no braces, no control \
                 characters",
                self.prefix
            )));
        }
        if self.command_timeout.is_zero() || self.connect_timeout.is_zero() {
            return Err(InvalidOptions::new("a timeout of zero lets no command through"));
        }
        Ok(())
    }
}

/// A callback of the client.
#[derive(Clone, Default)]
pub struct OnReconnect(Option<Arc<dyn Fn(Duration) + Send + Sync>>);

impl OnReconnect {
    pub fn new(callback: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    pub fn call(&self, down_for: Duration) {
        if let Some(callback) = &self.0 {
            callback(down_for);
        }
    }
}

impl fmt::Debug for OnReconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnReconnect").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_with_impossible_settings_are_refused() {
        let with = |prefix: &str, command_timeout, connect_timeout| {
            let prefix = prefix.into();
            let options = ConnectOptions::default();
            ConnectOptions { prefix, command_timeout, connect_timeout, ..options }.check().is_ok()
        };
        let (some, none) = (Duration::from_millis(1), Duration::ZERO);
        assert!(with("", some, some) && with(&"p".repeat(64), some, some));
        assert!(!with(&"p".repeat(65), some, some));
        assert!(["a{", "a}", "a\n"].iter().all(|prefix| !with(prefix, some, some)));
        assert!(!with("", none, some) && !with("", some, none));
    }
}
