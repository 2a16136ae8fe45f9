//! The store that a command uses, and the connection to it.

use std::{env, fs, time::Duration};

use lock_core::{
    __private::time_text, ConnectError, InspectError, LockClient, LockClientBuilder, Tls,
};
use serde_json::{Value, json};

use crate::{
    outcome::{CommandError, CommandResult},
    visible::visible,
};

/// The first one that is set counts.
const VARIABLES: [&str; 2] = ["LOCK_URL", "REDIS_URL"];
const AUTHORITY: &str = "SSL_CERT_FILE";
/// Longer than a service's command timeout: an operator may use `lockctl` because the store is slow.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time limit for removing the client's name from Redis, where it otherwise expires within a minute,
/// and for ending a session with ZooKeeper.
const FAREWELL: Duration = Duration::from_secs(1);

/// The heading of the options of every command on live locks.
pub(crate) const STORE: &str = "Store";

/// Where the locks are.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = STORE)]
pub(crate) struct StoreArgs {
    /// The services' Redis or ZooKeeper, as any URL that they accept. Default: $LOCK_URL, then
    /// $REDIS_URL, which hide a password
    #[arg(long, value_name = "URL", alias = "redis")]
    url: Option<String>,
    /// The prefix of every key, as in the services' settings, in ZooKeeper a folder; '' for locks of
    /// Curator alone. Default: lock:
    #[arg(long, value_name = "PREFIX", conflicts_with = "redisson")]
    prefix: Option<String>,
    /// Locks shared with Redisson: no prefix, permanent tokens. Redis alone
    #[arg(long)]
    redisson: bool,
}

/// The kinds of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreKind {
    Redis,
    ZooKeeper,
}

/// A connection for the duration of one command.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) locks: LockClient,
    kind: StoreKind,
    url: String,
    from: &'static str,
}

impl StoreArgs {
    /// Runs `work` on a connection and closes it afterwards.
    pub(crate) fn carry_out(
        &self,
        work: impl AsyncFnOnce(&Live) -> CommandResult,
    ) -> CommandResult {
        let (url, from) = self.url()?;
        let kind = StoreKind::of(&url);
        let builder = self.builder(kind, &url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|why| CommandError::store(format!("no connection can be opened: {why}")))?;
        runtime.block_on(async {
            let connected = builder.connect(&url).await;
            let locks = connected.map_err(|why| not_connected(&why, from))?;
            let live = Live { locks, kind, url: without_secrets(&url), from };
            let outcome = work(&live).await;
            // The client holds no lock, so a failed shutdown leaves nothing locked.
            let _ = live.locks.shutdown(FAREWELL).await;
            outcome
        })
    }

    fn url(&self) -> Result<(String, &'static str), CommandError> {
        if let Some(url) = &self.url {
            return Ok((url.clone(), "--url"));
        }
        let set = VARIABLES.into_iter().find_map(|variable| {
            let url = env::var(variable).ok().filter(|url| !url.is_empty())?;
            Some((url, variable))
        });
        set.ok_or_else(|| {
            CommandError::usage(
                "no store is named: set LOCK_URL to the services' Redis or ZooKeeper, or use --url URL",
            )
        })
    }

    /// Uses the default client name: the name of the program and of the host.
    fn builder(&self, kind: StoreKind, url: &str) -> Result<LockClientBuilder, CommandError> {
        // An operator's user may have fewer rights than a service.
        let builder = LockClient::builder().command_timeout(PATIENCE).check_rights(false);
        let builder = match kind {
            StoreKind::Redis if self.redisson => builder.redisson(),
            // An operator sees holders of other libraries too.
            StoreKind::Redis => builder.beside_set_nx(),
            StoreKind::ZooKeeper if self.redisson => {
                return Err(CommandError::usage(
                    "--redisson is for locks in Redis: omit it with a ZooKeeper URL, where \
                     Curator's locks are found with --prefix ''",
                ));
            }
            StoreKind::ZooKeeper if url.starts_with("zookeepers:") => builder.tls(authority()?),
            StoreKind::ZooKeeper => builder,
        };
        Ok(match &self.prefix {
            Some(prefix) => builder.prefix(prefix),
            None => builder,
        })
    }
}

impl StoreKind {
    fn of(url: &str) -> Self {
        let is_zookeeper = url.starts_with("zookeeper:") || url.starts_with("zookeepers:");
        if is_zookeeper { Self::ZooKeeper } else { Self::Redis }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::ZooKeeper => "zookeeper",
        }
    }
}

impl Live {
    /// For stderr.
    pub(crate) fn note(&self) -> String {
        format!("{}: {} (from {})", self.kind.as_str(), self.url, self.from)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "kind": self.kind.as_str(), "url": self.url, "from": self.from })
    }

    /// Formats the remaining time of a lock.
    pub(crate) fn left(&self, remaining: Option<Duration>) -> String {
        match (remaining, self.kind) {
            (Some(remaining), _) => format!("{} left", time_text(remaining)),
            (None, StoreKind::Redis) => "no end".to_owned(),
            // The session may end at any time: its end is known to the ensemble alone.
            (None, StoreKind::ZooKeeper) => "until its session ends".to_owned(),
        }
    }
}

/// For Redis the library reads the system's certificates by itself. ZooKeeper trusts none of them.
fn authority() -> Result<Tls, CommandError> {
    let Some(path) = env::var_os(AUTHORITY) else {
        return Err(CommandError::usage(&format!(
            "zookeepers:// needs the ensemble's certificate authority: set {AUTHORITY} to its PEM file"
        )));
    };
    let pem = fs::read(&path).map_err(|why| {
        let path = path.display();
        CommandError::usage(&format!("{AUTHORITY}={path} cannot be read: {why}"))
    })?;
    Ok(Tls::new().authority(pem))
}

/// Converts the reason why a lock could not be inspected or released.
pub(crate) fn not_done(why: &InspectError) -> CommandError {
    match why {
        InspectError::Key(why) => CommandError::usage(&why.to_string()),
        InspectError::WrongKind(why) => CommandError::not_a_lock(format!(
            "\"{}\" holds something that is not a lock, and was left unchanged: is that the key, \
             and --prefix the services' prefix?",
            visible(why.key().as_str())
        )),
        InspectError::Unsupported(why) => CommandError::usage(&why.to_string()),
        why => CommandError::store(why.to_string()),
    }
}

fn not_connected(why: &ConnectError, from: &str) -> CommandError {
    let message = format!("{why} (the URL is that of {from})");
    match why {
        ConnectError::InvalidUrl { .. } => CommandError::usage(&message),
        ConnectError::MissingFeature { feature } => CommandError::usage(&format!(
            "this lockctl was built without the feature `{feature}`, which the URL of {from} needs: \
             build it with `--features {feature}`"
        )),
        ConnectError::InvalidOptions(why) => CommandError::usage(&why.to_string()),
        _ => CommandError::store(message),
    }
}

/// Removes secrets from the URLs in a usage error that repeats the arguments, and what misleads from
/// all of them.
pub(crate) fn as_may_be_shown(refusal: &str, typed: impl Iterator<Item = String>) -> String {
    typed.fold(refusal.to_owned(), |text, argument| {
        // The error may repeat the value of an option alone.
        let option = argument.split_once('=').filter(|(name, _)| name.starts_with('-'));
        let value = option.map_or(&*argument, |(_, value)| value);
        let shown = if value.contains("://") { without_secrets(value) } else { value.to_owned() };
        match visible(&shown) {
            shown if shown != value => text.replace(value, &shown),
            _ => text,
        }
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
