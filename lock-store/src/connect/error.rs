//! Why a client could not be created.

use std::{error::Error as StdError, sync::Arc};

use thiserror::Error;

use crate::types::InvalidOptions;

/// The reason why a client could not be created. Nothing is held. No message contains the password.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL is not one of a store.
    #[error(
        "the URL cannot be used: {reason}; write \
         redis://[user:password@]host[:port][/database], rediss:// for TLS, redis+unix:///path, \
         redis+sentinel://host[:port],.../name[/database], redis+cluster://host[:port],... or \
         zookeeper://[user:password@]host[:port],.../chroot"
    )]
    InvalidUrl {
        /// The fault in the URL.
        reason: String,
    },
    /// The URL needs a part of the library that this program was built without.
    #[error(
        "the URL needs the feature `{feature}`, and this program was built without it: add the feature \
         where the program depends on lock-tower or lock-core, as `cargo add lock-tower --features \
         {feature}` does, and build it again"
    )]
    MissingFeature {
        /// The feature of lock-tower, and of lock-core.
        feature: &'static str,
    },
    /// A setting of the builder is out of bounds.
    #[error(transparent)]
    InvalidOptions(#[from] InvalidOptions),
    /// Nothing answered at the address.
    #[error(
        "no {store} answers at {address}: {reason}; is it running, and may this host reach it?"
    )]
    Unreachable {
        /// `"Redis"` or `"ZooKeeper"`.
        store: &'static str,
        /// Host and port, or the path of the socket.
        address: String,
        /// The reason why the attempt failed.
        reason: String,
        /// The error underneath.
        #[source]
        source: Option<Arc<dyn StdError + Send + Sync>>,
    },
    /// The server answers, but no TLS connection is established.
    #[error("no TLS connection to Redis at {address}: {reason}")]
    Tls {
        /// Host and port.
        address: String,
        /// The fault, and how to correct it.
        reason: String,
        /// The error underneath.
        #[source]
        source: Option<Arc<dyn StdError + Send + Sync>>,
    },
    /// The server refused the user or the password, or requires one.
    #[error(
        "{store} at {address} refuses these credentials: {reason}; put user and password into the \
         URL, percent-encoded (those of Sentinels: LockClientBuilder::sentinel_credentials)"
    )]
    Refused {
        /// `"Redis"` or `"ZooKeeper"`.
        store: &'static str,
        /// Host and port, or the path of the socket.
        address: String,
        /// The server's error.
        reason: String,
    },
    /// The server accepts the user, but the user may not do everything that the lock scripts do: a
    /// script might fail halfway and leave a lock behind forever.
    #[error(
        "Redis at {address} does not grant the user \"{user}\" all rights that the lock scripts \
         need; add the missing ones: ACL SETUSER {user} {}", .rights.join(" ")
    )]
    MissingRights {
        /// Host and port, or the path of the socket.
        address: String,
        /// The user, `default` if the URL has none.
        user: String,
        /// The missing rights, or all required ones for a user that may run no script, as `ACL
        /// SETUSER` takes them: commands (`+pexpire`), patterns of keys (`~lock:*`) and of channels
        /// (`&redisson_rwlock:{lock:*`).
        rights: Vec<String>,
    },
    /// The server is there but cannot keep the locks.
    #[error("Redis at {address} cannot keep the locks: {reason}")]
    Unsuitable {
        /// Host and port, or the path of the socket.
        address: String,
        /// The fault, and how to correct it.
        reason: String,
    },
    /// The ensemble is there but cannot keep the locks.
    #[error(
        "ZooKeeper at {address} cannot keep the locks: {reason}; locks need ZooKeeper 3.6 or later"
    )]
    UnsuitableEnsemble {
        /// Host and port of each server.
        address: String,
        /// The fault, and how to correct it.
        reason: String,
    },
}
