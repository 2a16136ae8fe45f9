//! A policy file at work: every route its lock, changed while the service runs.
//!
//! # Examples
//!
//! ```
//! use axum::{Router, routing::get};
//! use lock_tower::{LockClient, policies::Policies};
//!
//! let file = r#"
//! version = 1
//!
//! [[policy]]
//! name = "order"
//! match = { path = "/orders/{id}" }
//! key = "order:{id:u64}"
//! "#;
//! let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", file)?;
//! let app: Router = Router::new()
//!     .route("/orders/{id}", get(|| async { "shown" }).put(|| async { "changed" }))
//!     .route("/health", get(|| async { "well" }))
//!     .route_layer(policies.layer());
//! # let _ = app;
//! # Ok::<(), lock_tower::policies::PoliciesError>(())
//! ```
//!
//! In a service the file is [read](PoliciesBuilder::read) and [watched](Policies::watch):
//!
//! ```no_run
//! # use lock_tower::{LockClient, policies::Policies};
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = LockClient::connect("redis://127.0.0.1/").await?;
//! let policies = Policies::builder(locks).read("locks.toml")?;
//! policies.watch();
//! # Ok(()) }
//! ```
//!
//! # What is in the file
//!
//! See [`policy_file`](crate::policy_file).
//!
//! # A new version
//!
//! comes into force as a whole or not at all: on any error the old one stays, and the log says why.
//! A request keeps what it began with. A version in which a rule of the same name, or one for the
//! same requests under another name, has another key, kind or mode is refused, because requests under
//! the old and the new rule would not exclude each other, unless the file names the rule in
//! `allow_change`. What else moves requests from one rule to another is not looked at: a rule that is
//! put in front, a `match` that covers more or less, `enforce`.
//!
//! # Which rule counts
//!
//! The first that matches; a request for which there is none runs without a lock. A layer of one's
//! own ([`RequestLockLayer`](crate::RequestLockLayer)) is not changed by the file.
//! `#[distributed_lock]` is, inside of this layer, by a rule that names the attribute
//! (`match = { attribute = "orders::update" }`): everything on a handler, and on another function
//! `kind`, `mode`, `wait`, `lease`, `renew`, `max_hold` and `enforce`. Of a layer inside of another
//! each has its own rules for routes; of rules for one attribute the inner one counts.
//!
//! Where no route is known, because the layer stands around the router or around a nested service,
//! rules go by the request's path: one that ends in `{*rest}` counts, and for any other the request
//! is answered 500 `lock-misconfigured`, because only the router knows whether it is meant.
//!
//! The environment's `LOCK_TOWER_ENFORCE` is above
//! all: `off`, `shadow` or `on` for every lock of the process, or `order=off,report=shadow`.

mod compatibility;
mod coverage;
mod error;
mod layer;
mod service;
mod version;
mod watch;

use std::{
    fmt,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
};

use ::metrics::{counter, gauge};
use bytes::Bytes;
use http::Response;
use lock_core::{
    __private::{Mutex, RwLock},
    LockClient,
};
use lock_policy::{__private::kill_switch, KeyValues, PolicyErrors, PolicyFile};

use crate::{
    outcome::rejected_request::{RejectedRequest, fallback},
    request::principal_limit::PrincipalLimit,
    telemetry::metrics,
};

use version::Registered;

pub use coverage::{Route, RouteTable};
pub use error::{ExclusionChange, PoliciesError};
pub use layer::PolicyLayer;
pub use service::PolicyService;

pub(crate) use version::Version;

/// The policies of a service, as they are in force. Cheap to clone; all clones change together.
///
/// See the [module docs](self).
#[derive(Clone)]
pub struct Policies(Arc<PoliciesInner>);

struct PoliciesInner {
    registered: Registered,
    path: Option<PathBuf>,
    current: RwLock<Arc<Version>>,
    /// Held while the file is read and a new version is made of it.
    changing: Mutex<()>,
}

/// Which version is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyVersion {
    /// The how manieth of this process, from one: the metric `lock_policy_version`.
    pub number: u64,
    /// Of the file's text, the same in every process that has read the same.
    pub id: String,
}

impl Policies {
    /// Policies whose locks are those of `client`.
    pub fn builder(client: LockClient) -> PoliciesBuilder {
        let (values, fallbacks, limit) = Default::default();
        PoliciesBuilder { registered: Registered { client, values, fallbacks, limit } }
    }

    /// The layer, for [`Router::route_layer`](axum::Router::route_layer) after the routes it is for.
    pub fn layer(&self) -> PolicyLayer {
        PolicyLayer::new(self.clone())
    }

    /// Which version is in force.
    #[must_use]
    pub fn version(&self) -> PolicyVersion {
        let current = self.current();
        PolicyVersion { number: current.number, id: current.file.version().to_owned() }
    }

    /// Reads the file again. What has not changed is no new version. It blocks for as long as the
    /// file system does.
    ///
    /// # Errors
    ///
    /// [`PoliciesError`]: the version that was in force stays.
    pub fn reload(&self) -> Result<PolicyVersion, PoliciesError> {
        let path = self.0.path.as_ref().ok_or(PoliciesError::NoFile)?;
        self.change(path, || PolicyFile::read(path))
    }

    /// Puts in force what `read` gives, or says in the log why not.
    fn change(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<PolicyFile, PolicyErrors>,
    ) -> Result<PolicyVersion, PoliciesError> {
        // Taken before the file is read: whoever reads first must not be the last to put in force.
        let _changing = self.0.changing.lock();
        let changed = read().map_err(PoliciesError::from);
        let changed = changed.and_then(|file| self.put_in_force(file));
        if let Err(why) = &changed {
            counter!(metrics::POLICY_RELOADS, "result" => "refused").increment(1);
            tracing::error!(
                file = %path.display(),
                in_force = self.version().number,
                "the policy file was not put in force, and what was before stays so:\n{why}"
            );
        }
        changed
    }

    fn put_in_force(&self, file: PolicyFile) -> Result<PolicyVersion, PoliciesError> {
        let before = self.current();
        if before.file.version() == file.version() {
            return Ok(self.version());
        }
        let changes = compatibility::changes(&before, &file);
        if !changes.is_empty() {
            return Err(PoliciesError::ExclusionChanged(changes));
        }
        let after = Version::new(&self.0.registered, file, Some(&before))?;
        *self.0.current.write() = Arc::new(after);
        gauge!(metrics::POLICY_INFO, "id" => before.file.version().to_owned()).set(0);
        let gone = compatibility::removed_rules(&before.file, &self.current().file);
        if !gone.is_empty() {
            tracing::warn!(
                "rules are gone from the policy file, and their requests take no lock of it any \
                 more, while those under the former version still do: {}",
                gone.join(", ")
            );
        }
        Ok(self.announce())
    }

    /// Says which version is in force now.
    fn announce(&self) -> PolicyVersion {
        let version = self.version();
        self.current().measure();
        let rules = self.current().file.rules().len();
        tracing::info!(version = version.number, id = %version.id, rules, "policies in force");
        version
    }

    fn current(&self) -> Arc<Version> {
        Arc::clone(&self.0.current.read())
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policies").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// Policies before their file is read: from [`Policies::builder`].
#[must_use = "a builder does nothing until it reads"]
pub struct PoliciesBuilder {
    registered: Registered,
}

impl PoliciesBuilder {
    /// Where `{claim.x}` and `{ext.x}` of the keys come from. Default: nowhere.
    pub fn values(mut self, values: KeyValues) -> Self {
        self.registered.values = values;
        self
    }

    /// How many locks of all rules for routes together one principal may hold and wait for at once.
    /// Default: no limit.
    pub fn limit_principals(mut self, limit: PrincipalLimit) -> Self {
        self.registered.limit = Some(limit);
        self
    }

    /// A function that rules can name as the `fallback` of an outcome.
    pub fn fallback<F, A>(mut self, name: impl Into<String>, answer: F) -> Self
    where
        F: Fn(RejectedRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Response<Bytes>> + Send + 'static,
    {
        self.registered.fallbacks.insert(name.into(), fallback(answer));
        self
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`PoliciesError`], with every mistake of the file, its place and what would be right.
    pub fn read(self, path: impl AsRef<Path>) -> Result<Policies, PoliciesError> {
        let path = path.as_ref();
        self.start(PolicyFile::read(path)?, Some(path.to_owned()))
    }

    /// Takes the text of a file; `name` stands for it in errors.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn parse(self, name: &str, text: &str) -> Result<Policies, PoliciesError> {
        self.start(PolicyFile::parse(name, text)?, None)
    }

    fn start(self, file: PolicyFile, path: Option<PathBuf>) -> Result<Policies, PoliciesError> {
        let first = Version::new(&self.registered, file, None)?;
        let policies = Policies(Arc::new(PoliciesInner {
            registered: self.registered,
            path,
            current: RwLock::new(Arc::new(first)),
            changing: Mutex::default(),
        }));
        policies.announce();
        // At the start, and not at the first request: who has thrown the switch looks now.
        kill_switch::announce(policies.current().file.names());
        Ok(policies)
    }
}

impl fmt::Debug for PoliciesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoliciesBuilder").finish_non_exhaustive()
    }
}
