//! The Redis server that a command uses, and the connection to it.

use std::{env, time::Duration};

use lock_core::{ConnectError, InspectError, LockClient};
use serde_json::{Value, json};

use crate::outcome::{CommandError, CommandResult};

const VARIABLE: &str = "REDIS_URL";
/// Longer than a service's command timeout: an operator may use `lockctl` because Redis is slow.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time limit for removing the client's name from Redis. Otherwise it expires within a minute.
const FAREWELL: Duration = Duration::from_secs(1);

/// Where the locks are.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Redis")]
pub(crate) struct ServerArgs {
    /// The services' Redis, as any URL that they accept. Default: $REDIS_URL, which hides a password
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// The prefix of every key, as in the services' settings. Default: lock:
    #[arg(long, value_name = "PREFIX", conflicts_with = "redisson")]
    prefix: Option<String>,
    /// Locks shared with Redisson: no prefix, permanent tokens
    #[arg(long)]
    redisson: bool,
}

/// A connection for the duration of one command.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) locks: LockClient,
    url: String,
    from: &'static str,
}

impl ServerArgs {
    /// Runs `work` on a connection and closes it afterwards.
    pub(crate) fn carry_out(
        &self,
        work: impl AsyncFnOnce(&Live) -> CommandResult,
    ) -> CommandResult {
        let (url, from) = self.url()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|why| CommandError::redis(format!("no connection can be opened: {why}")))?;
        runtime.block_on(async {
            let connected = self.builder().connect(&url).await;
            let locks = connected.map_err(|why| not_connected(&why, from))?;
            let live = Live { locks, url: without_secrets(&url), from };
            let outcome = work(&live).await;
            // The client holds no lock, so a failed shutdown leaves nothing locked.
            let _ = live.locks.shutdown(FAREWELL).await;
            outcome
        })
    }

    fn url(&self) -> Result<(String, &'static str), CommandError> {
        if let Some(url) = &self.redis {
            return Ok((url.clone(), "--redis"));
        }
        match env::var(VARIABLE) {
            Ok(url) if !url.is_empty() => Ok((url, VARIABLE)),
            _ => Err(CommandError::usage(&format!(
                "no Redis is named: set {VARIABLE} to the services' Redis, or use --redis URL"
            ))),
        }
    }

    /// Uses the default client name: the name of the program and of the host.
    fn builder(&self) -> lock_core::LockClientBuilder {
        // An operator's user may have fewer rights than a service.
        let builder = LockClient::builder().command_timeout(PATIENCE).check_rights(false);
        match &self.prefix {
            _ if self.redisson => builder.redisson(),
            // An operator sees holders of other libraries too.
            Some(prefix) => builder.prefix(prefix).beside_set_nx(),
            None => builder.beside_set_nx(),
        }
    }
}

impl Live {
    /// For stderr.
    pub(crate) fn note(&self) -> String {
        format!("redis: {} (from {})", self.url, self.from)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "url": self.url, "from": self.from })
    }
}

/// Converts the reason why a lock could not be inspected or released.
pub(crate) fn not_done(why: &InspectError) -> CommandError {
    match why {
        InspectError::Key(why) => CommandError::usage(&why.to_string()),
        InspectError::WrongKind(why) => CommandError::not_a_lock(format!(
            "\"{}\" holds something that is not a lock, and was left unchanged: is that the key, \
             and --prefix the services' prefix?",
            why.key()
        )),
        why => CommandError::redis(why.to_string()),
    }
}

fn not_connected(why: &ConnectError, from: &str) -> CommandError {
    let message = format!("{why} (the URL is that of {from})");
    match why {
        ConnectError::InvalidUrl { .. } => CommandError::usage(&message),
        ConnectError::InvalidOptions(why) => CommandError::usage(&why.to_string()),
        _ => CommandError::redis(message),
    }
}

/// Removes secrets from the URLs in a usage error that repeats the arguments.
pub(crate) fn without_typed_secrets(refusal: &str, typed: impl Iterator<Item = String>) -> String {
    let urls = typed.filter(|argument| argument.contains("://"));
    urls.fold(refusal.to_owned(), |text, argument| {
        // The error may repeat the value of an option alone.
        let option = argument.split_once('=').filter(|(name, _)| name.starts_with('-'));
        let url = option.map_or(&*argument, |(_, value)| value);
        text.replace(url, &without_secrets(url))
    })
}

/// Removes user, password and query from a URL; returns an empty text if they cannot be
/// separated from the rest.
fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    if !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+') {
        return String::new();
    }
    let shown = if scheme.to_ascii_lowercase().ends_with("unix") {
        // A path may have an `@`, and the password is in the query.
        let path = rest.split_once('?').map_or(rest, |(path, _)| path);
        path.find('/').map_or("", |at| &path[at..])
    } else {
        match rest.rsplit_once('@') {
            // Either the password contains `?`, or the query contains a password.
            Some((before, _)) if before.contains('?') => "",
            Some((_, host)) => host.split_once('?').map_or(host, |(host, _)| host),
            None => rest.split_once('?').map_or(rest, |(host, _)| host),
        }
    };
    format!("{scheme}://{shown}")
}
