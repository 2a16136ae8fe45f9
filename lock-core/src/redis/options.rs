use std::time::Duration;

use crate::{error::InvalidOptions, settings::DEFAULT_COMMAND_TIMEOUT};

/// How a client uses Redis, as the builder has it.
#[derive(Debug, Clone)]
pub(crate) struct RedisOptions {
    pub(crate) prefix: String,
    pub(crate) command_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) permanent_tokens: bool,
    pub(crate) service: Option<String>,
    pub(crate) instance: Option<String>,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: "lock:".to_owned(),
            command_timeout: DEFAULT_COMMAND_TIMEOUT,
            connect_timeout: Duration::from_secs(2),
            permanent_tokens: false,
            service: None,
            instance: None,
        }
    }
}

impl RedisOptions {
    pub(crate) fn check(&self) -> Result<(), InvalidOptions> {
        const MOST_PREFIX: usize = 64;
        let odd = |c: char| c.is_control() || c == '{' || c == '}';
        if self.prefix.len() > MOST_PREFIX || self.prefix.contains(odd) {
            return Err(InvalidOptions(format!(
                "the prefix {:?} is not usable: at most {MOST_PREFIX} bytes, no braces, no control \
                 characters",
                self.prefix
            )));
        }
        if self.command_timeout.is_zero() || self.connect_timeout.is_zero() {
            return Err(InvalidOptions("a timeout of zero lets no command through".to_owned()));
        }
        Ok(())
    }
}
