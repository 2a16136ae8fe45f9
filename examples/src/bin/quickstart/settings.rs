//! The settings from the command line and the environment.

use std::{env, ffi::OsString, fs, path::PathBuf, str::FromStr, time::Duration};

use lock_tower::{ConnectError, LockClient};
use tempfile::TempDir;

use crate::{failure::Failure, shelves::Shelves};

/// How long a process that dies under a lock keeps others out.
const LEASE: Duration = Duration::from_secs(3);

pub(crate) struct Settings {
    pub(crate) once: bool,
    pub(crate) port: u16,
    pub(crate) stock: u32,
    data_dir: Option<PathBuf>,
    store: Option<StoreUrl>,
}

/// Where the locks are, and the variable that says so.
struct StoreUrl {
    variable: &'static str,
    url: OsString,
}

/// Where the stock is.
pub(crate) enum Data {
    Shared(PathBuf),
    /// Removed when the program ends.
    Own(TempDir),
}

impl Settings {
    pub(crate) fn from_env() -> Result<Self, Failure> {
        Ok(Self {
            once: once(env::args_os().skip(1))?,
            port: number("PORT", 3000, "a port from 0 to 65535")?,
            stock: number("STOCK", 100, "a number of units from 0 to 4294967295")?,
            data_dir: env::var_os("DATA_DIR").map(PathBuf::from),
            store: store(env::var_os("LOCK_URL"), env::var_os("REDIS_URL"))?,
        })
    }

    pub(crate) async fn locks(&self) -> Result<LockClient, Failure> {
        let locks = LockClient::builder().lease(LEASE);
        let Some(StoreUrl { variable, url }) = &self.store else {
            return Ok(locks.in_memory());
        };
        let connected = locks.connect(&url.to_string_lossy()).await;
        connected.map_err(|error| match error {
            ConnectError::InvalidUrl { .. } => Failure::Setting(format!("{variable}: {error}")),
            ConnectError::MissingFeature { feature: feature @ "zookeeper" } => {
                Failure::Setting(format!(
                    "{variable}: this URL needs the feature `{feature}`: cargo run -p examples \
                     --features {feature} --bin quickstart"
                ))
            }
            error => error.into(),
        })
    }

    pub(crate) fn data(&self) -> Result<Data, Failure> {
        let Some(directory) = &self.data_dir else {
            if let Some(StoreUrl { variable, .. }) = &self.store {
                eprintln!(
                    "quickstart: {variable} without DATA_DIR: the locks are shared, but the stock is \
                     this process' own; set DATA_DIR to share that too"
                );
            }
            return Ok(Data::Own(tempfile::tempdir()?));
        };
        match fs::create_dir_all(directory) {
            Ok(()) => Ok(Data::Shared(directory.clone())),
            Err(error) => Err(Failure::Setting(format!(
                "DATA_DIR={} is not a directory that can be used: {error}",
                directory.display()
            ))),
        }
    }
}

impl Data {
    pub(crate) fn shelves(&self, at_first: u32) -> Shelves {
        match self {
            Self::Shared(directory) => Shelves::new(directory, at_first),
            Self::Own(directory) => Shelves::new(directory.path(), at_first),
        }
    }
}

/// Neither URL is shown: it may have a password.
fn store(
    lock_url: Option<OsString>,
    redis_url: Option<OsString>,
) -> Result<Option<StoreUrl>, Failure> {
    match (lock_url, redis_url) {
        (Some(one), Some(other)) if one != other => Err(Failure::Setting(
            "LOCK_URL and REDIS_URL name two stores, and locks of one do not exclude those of the \
             other: set one of them"
                .to_owned(),
        )),
        (Some(url), _) => Ok(Some(StoreUrl { variable: "LOCK_URL", url })),
        (None, Some(url)) => Ok(Some(StoreUrl { variable: "REDIS_URL", url })),
        (None, None) => Ok(None),
    }
}

fn once(mut arguments: impl Iterator<Item = OsString>) -> Result<bool, Failure> {
    match (arguments.next(), arguments.next()) {
        (None, _) => Ok(false),
        (Some(argument), None) if argument == "--once" => Ok(true),
        _ => Err(Failure::Setting("usage: quickstart [--once]".to_owned())),
    }
}

fn number<T: FromStr>(variable: &str, default: T, legal: &str) -> Result<T, Failure> {
    let Some(value) = env::var_os(variable) else {
        return Ok(default);
    };
    let parsed = value.to_str().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| Failure::Setting(format!("{variable}={} is not {legal}", value.display())))
}
