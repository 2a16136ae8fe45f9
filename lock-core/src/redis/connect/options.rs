use std::fmt;

use lock_store::{InvalidOptions, Tls, connect::ConnectOptions};

use super::address_map::AddressMap;
use crate::redis::protocol::Replicas;

/// How a client uses Redis, as the builder has it.
#[derive(Debug, Clone)]
pub(crate) struct RedisOptions {
    pub(crate) common: ConnectOptions,
    /// Redisson's keys, fields and messages instead of our own.
    pub(crate) redissons_wire: bool,
    /// Of Redisson's wire alone.
    pub(crate) permanent_tokens: bool,
    /// Other libraries take the same locks by SET NX; of the native wire alone.
    pub(crate) beside_set_nx: bool,
    pub(crate) tls: Tls,
    pub(crate) sentinel_credentials: Option<Credentials>,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) check_rights: bool,
    pub(crate) addresses: AddressMap,
}

/// A user, if not the default one, and a password.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            common: ConnectOptions::default(),
            redissons_wire: false,
            permanent_tokens: false,
            beside_set_nx: false,
            tls: Tls::new(),
            sentinel_credentials: None,
            replicas: None,
            check_rights: true,
            addresses: AddressMap::default(),
        }
    }
}

impl RedisOptions {
    /// Refuses options that another store would not follow, although the caller relies on them.
    #[cfg(feature = "zookeeper")]
    pub(crate) fn check_unused(&self) -> Result<(), InvalidOptions> {
        let set = [
            (self.redissons_wire, "redisson"),
            (self.beside_set_nx, "beside_set_nx"),
            (self.replicas.is_some(), "wait_for_replicas"),
            (self.sentinel_credentials.is_some(), "sentinel_credentials"),
            (self.addresses.is_set(), "map_address"),
        ];
        match set.into_iter().find(|(is_set, _)| *is_set) {
            Some((_, option)) => Err(InvalidOptions::new(format!(
                "{option} applies only to Redis: omit it with a ZooKeeper URL"
            ))),
            None => Ok(()),
        }
    }

    pub(crate) fn check(&self) -> Result<(), InvalidOptions> {
        self.common.check()?;
        if self.beside_set_nx && self.redissons_wire {
            return Err(InvalidOptions::new(
                "a hash of Redisson's wire cannot be shared by SET NX: choose redisson() or \
                 beside_set_nx()"
                    .to_owned(),
            ));
        }
        if self.replicas.is_some_and(|replicas| replicas.count == 0 || replicas.timeout.is_zero()) {
            return Err(InvalidOptions::new(
                "wait_for_replicas needs at least one replica and a timeout above zero; omit it \
                 otherwise"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}
