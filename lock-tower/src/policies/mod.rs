//! Policy files: a lock for every route, changeable while the service runs.
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
//! # Contents of the file
//!
//! See [`policy_file`](crate::policy_file).
//!
//! # New versions
//!
//! A new version comes into force as a whole or not at all: on any error the old one stays, and the
//! log has the reason. A request keeps the version that it began with. If a rule has the same name
//! as an old one, or another name but the same requests, and a different key, kind or mode, the new
//! version is refused, because requests under the old and the new rule would not exclude each
//! other. The file can allow this by naming the rule in `allow_change`. Other changes that move
//! requests from one rule to another are not checked: a rule that is inserted in front, a `match`
//! that covers more or less, `enforce`.
//!
//! # Precedence
//!
//! The first rule that matches a request applies; a request without a matching rule runs without a
//! lock. The file does not change a separate [`RequestLockLayer`](crate::RequestLockLayer). Inside
//! this layer a rule that names an attribute (`match = { attribute = "orders::update" }`) changes
//! `#[distributed_lock]`: every setting on a handler, and on another function `kind`, `permits`,
//! `weight`, `mode`, `wait`, `lease`, `renew`, `max_hold`, `hold_at_least` and `enforce`. Outside a
//! request [`Policies::run`] applies these rules. Nested policy layers each apply their own
//! rules for routes; of several rules for one attribute the innermost layer's applies.
//!
//! Where the route is unknown, because the layer is around the router or around a nested service,
//! rules are matched with the request's path. A rule whose path ends in `{*rest}` applies. For any
//! other rule the request is answered 500 `lock-misconfigured`, because only the router knows
//! whether the rule is meant.
//!
//! The environment variable `LOCK_TOWER_ENFORCE` overrides all of this: `off`, `shadow` or `on` for
//! every lock of the process, or `order=off,report=shadow`.

mod compatibility;
mod coverage;
mod error;
mod layer;
mod near_misses;
#[cfg(feature = "utoipa")]
mod responses;
#[cfg(feature = "testing")]
mod rules_found;
mod service;
mod version;
mod watch;

use std::{
    fmt,
    future::Future,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ::metrics::{counter, gauge};
use bytes::Bytes;
use http::Response;
use lock_core::{
    __private::{Mutex, RwLock},
    LockClient,
};
use lock_policy::{
    __private::{Rule, kill_switch},
    Enforce, KeyValues, PolicyErrors, PolicyFile,
};

use crate::{
    lock_settings::attribute_rules::AttributeRules,
    outcome::rejected_request::{RejectedRequest, fallback},
    request::{context::RequestContext, principal_limit::PrincipalLimit, seen_routes::SeenRoutes},
    telemetry::metrics,
};

use version::Registered;

pub use coverage::{Route, RouteTable};
pub use error::{ExclusionChange, PoliciesError};
pub use layer::PolicyLayer;
pub use service::PolicyService;

#[cfg(feature = "testing")]
pub(crate) use rules_found::RulesFound;
pub(crate) use version::Version;

/// The policies of a service that are in force. Cheap to clone; a change applies to all clones.
///
/// See the [module docs](self).
#[derive(Clone)]
pub struct Policies(Arc<PoliciesInner>);

struct PoliciesInner {
    registered: Registered,
    path: Option<PathBuf>,
    current: RwLock<Arc<Version>>,
    /// Held while the file is read and turned into a new version.
    changing: Mutex<()>,
    seen: SeenRoutes,
    /// Whether the last text of the file was refused.
    is_refused: AtomicBool,
}

/// Identifies the version in force.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyVersion {
    /// The number of this version in the process, starting at 1: the metric `lock_policy_version`.
    pub number: u64,
    /// A hash of the file's text, equal in every process that has read the same text.
    pub id: String,
}

impl Policies {
    /// Returns a builder of policies whose locks use `client`.
    pub fn builder(client: LockClient) -> PoliciesBuilder {
        let (values, fallbacks, limit) = Default::default();
        PoliciesBuilder { registered: Registered { client, values, fallbacks, limit } }
    }

    /// Returns the layer, for [`Router::route_layer`](axum::Router::route_layer) after the routes
    /// it is for.
    pub fn layer(&self) -> PolicyLayer {
        PolicyLayer::new(self.clone())
    }

    /// Runs work that is not a request, such as a job, with this file's rules for attributes: those in
    /// force at this call. Rules for routes and the time of requests do not apply to it.
    ///
    /// ```
    /// # use lock_tower::{LockClient, LockError, distributed_lock, policies::Policies};
    /// #[distributed_lock(key = "nightly", client = locks, name = "nightly")]
    /// async fn nightly(locks: &LockClient) -> Result<(), LockError> {
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let file = r#"
    /// version = 1
    ///
    /// [[policy]]
    /// name = "nightly"
    /// match = { attribute = "nightly" }
    /// hold_at_least = "5s"
    /// "#;
    /// let locks = LockClient::in_memory();
    /// let policies = Policies::builder(locks.clone()).parse("locks.toml", file)?;
    /// policies.run(nightly(&locks)).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// That of the work.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        let client = &self.0.registered.client;
        let context = RequestContext::ambient();
        let mut context = context.unwrap_or_else(|| RequestContext::of(client.scope()));
        let around = context.attributes.take();
        context.attributes = Some(AttributeRules::inside(&self.current().attributes, around));
        context.run(work)
    }

    /// Returns the version in force.
    #[must_use]
    pub fn version(&self) -> PolicyVersion {
        let current = self.current();
        PolicyVersion { number: current.number, id: current.file.version().to_owned() }
    }

    /// Reads the file again. An unchanged file does not create a new version. The call blocks until
    /// the file system has returned the file.
    ///
    /// # Errors
    ///
    /// [`PoliciesError`]; the version in force stays.
    pub fn reload(&self) -> Result<PolicyVersion, PoliciesError> {
        let path = self.0.path.as_ref().ok_or(PoliciesError::NoFile)?;
        self.change(path, || PolicyFile::read(path))
    }

    /// Puts the file returned by `read` into force, or logs why it cannot.
    fn change(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<PolicyFile, PolicyErrors>,
    ) -> Result<PolicyVersion, PoliciesError> {
        // Lock before the file is read. Otherwise a caller that read an older text could put it
        // into force after a newer one.
        let _changing = self.0.changing.lock();
        let changed = read().map_err(PoliciesError::from);
        let changed = changed.and_then(|file| self.put_in_force(file));
        if let Err(why) = &changed {
            counter!(metrics::POLICY_RELOADS, "result" => "refused").increment(1);
            self.0.is_refused.store(true, Ordering::Relaxed);
            tracing::error!(
                file = %path.display(),
                in_force = self.version().number,
                "the policy file was rejected, and the version before it stays in force:\n{why}"
            );
        }
        changed
    }

    fn put_in_force(&self, file: PolicyFile) -> Result<PolicyVersion, PoliciesError> {
        let before = self.current();
        let was_refused = self.0.is_refused.swap(false, Ordering::Relaxed);
        if before.file.version() == file.version() {
            if was_refused {
                let number = before.number;
                tracing::info!(
                    number,
                    "the policy file has no errors any more: its version is in force"
                );
            }
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
        self.compare_with_routes(&before);
        Ok(self.announce())
    }

    /// Logs which rules of a new version do not match what they seem to be for.
    fn compare_with_routes(&self, before: &Version) {
        let (current, seen) = (self.current(), self.0.seen.all());
        for route in &seen {
            near_misses::log(&current, route);
        }
        let unmatched = near_misses::without_a_route(before, &current, &seen);
        if !unmatched.is_empty() {
            tracing::warn!(
                "rules match none of the {} routes that requests have had so far: {}. Compare their \
                 paths with the router's (Policies::check_routes)",
                seen.len(),
                unmatched.join(", ")
            );
        }
    }

    /// Logs the version now in force and returns it.
    fn announce(&self) -> PolicyVersion {
        let version = self.version();
        self.current().measure();
        for warning in self.current().file.warnings() {
            tracing::warn!("{warning}");
        }
        let current = self.current();
        let rules = current.file.rules();
        let idle: Vec<_> = rules.iter().filter_map(not_enforced).collect();
        let names = (!idle.is_empty()).then(|| idle.join(", "));
        tracing::info!(
            version = version.number,
            id = %version.id,
            rules = rules.len(),
            not_enforced = idle.len(),
            not_enforced_names = names.as_deref(),
            "policies in force"
        );
        version
    }

    fn current(&self) -> Arc<Version> {
        Arc::clone(&self.0.current.read())
    }
}

/// Returns a rule that is enforced for no request at this moment, with the reason.
fn not_enforced(rule: &Rule) -> Option<String> {
    let configured = rule.settings.enforce.unwrap_or_default();
    let enforce = kill_switch::in_force(&rule.name, configured);
    let is_idle = matches!(enforce, Enforce::Off | Enforce::Shadow | Enforce::Percent(0));
    is_idle.then(|| format!("{} ({enforce})", rule.name))
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policies").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// Builds policies from a file: from [`Policies::builder`].
#[must_use = "a builder does nothing until it reads"]
pub struct PoliciesBuilder {
    registered: Registered,
}

impl PoliciesBuilder {
    /// Sets the source of `{claim.x}` and `{ext.x}` in keys. Default: none.
    pub fn values(mut self, values: KeyValues) -> Self {
        self.registered.values = values;
        self
    }

    /// Limits how many locks, over all rules for routes, one principal may hold and wait for at
    /// once. Default: no limit.
    pub fn limit_principals(mut self, limit: PrincipalLimit) -> Self {
        self.registered.limit = Some(limit);
        self
    }

    /// Registers a function that rules can name as `busy_fallback`, or as the `fallback` of another outcome.
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
    /// [`PoliciesError`], with every mistake in the file, its position and a correction.
    pub fn read(self, path: impl AsRef<Path>) -> Result<Policies, PoliciesError> {
        let path = path.as_ref();
        self.start(PolicyFile::read(path)?, Some(path.to_owned()))
    }

    /// Parses the text of a file; `name` identifies it in errors.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
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
            seen: SeenRoutes::default(),
            is_refused: AtomicBool::new(false),
        }));
        policies.announce();
        // Announce at start instead of at the first request: an operator that has set the kill
        // switch checks the log now.
        kill_switch::announce(policies.current().file.names());
        Ok(policies)
    }
}

impl fmt::Debug for PoliciesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoliciesBuilder").finish_non_exhaustive()
    }
}
