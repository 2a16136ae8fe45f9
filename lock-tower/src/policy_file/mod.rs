//! Policy files: each route its lock, written in TOML.
//!
//! # Examples
//!
//! ```
//! use lock_tower::policy_file::PolicyFile;
//!
//! let file = PolicyFile::parse(
//!     "locks.toml",
//!     r#"
//! version = 1
//!
//! [defaults]
//! wait = "1s"
//!
//! [[policy]]
//! name = "order-write"
//! match = { methods = ["PUT", "PATCH"], path = "/orders/{id}" }
//! key = "tenant:{claim.tid}:order:{path.id:u64}"
//! on_busy = { status = 409, detail = "Somebody edits this order." }
//! "#,
//! )?;
//! assert_eq!(file.names().collect::<Vec<_>>(), ["order-write"]);
//! # Ok::<(), lock_tower::policy_file::PolicyErrors>(())
//! ```
//!
//! What is wrong with a file is told all at once, each with its place:
//!
//! ```
//! # use lock_tower::policy_file::PolicyFile;
//! let text = "version = 1\n[defaults]\nwiat = \"1s\"\n";
//! let errors = PolicyFile::parse("locks.toml", text).unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     r#"locks.toml:3:1: error: [defaults] has no field `wiat`
//!   |
//! 3 | wiat = "1s"
//!   | ^^^^
//!   = help: did you mean `wait`?"#
//! );
//! ```
//!
//! # Which rule counts
//!
//! The first whose `match` fits. `path` is compared with the route as the router has it: each
//! segment is the same, parameters have the same names, and a trailing `{*rest}` covers every route
//! below. A rule for an attribute is found by the attribute's name. What the file says counts more
//! than what an attribute says, and the environment's `LOCK_TOWER_ENFORCE` more than both: `on`,
//! `shadow` or `off` for every lock, or `order-write=off,report=shadow`.
//!
//! # Environment
//!
//! In every text, `${VAR}` is replaced by the environment variable, `${VAR:-default}` too, or by
//! the default when it is not set or empty. `$${` is a literal `${`.
//!
//! # Keys
//!
//! Keys are [templates](crate::Template); their holes are those of
//! [`RequestLockLayer::new`](crate::RequestLockLayer::new). `{query.page:u64|default=1}` has a
//! default for a value that is missing, `{header.email:lower|hash}` puts the value's SHA-256 into
//! the key.
//!
//! # Fields
#![doc = include_str!("fields.md")]

mod checks;
#[cfg(test)]
mod docs;
mod enforce;
mod environment;
mod error;
mod explain;
mod explanation;
mod fault;
mod fields;
mod keys;
mod matcher;
mod page;
mod parse;
mod path_pattern;
mod path_segment;
mod reader;
mod routes;
mod rule;
mod rules;
mod said;
mod scalar;
mod schema;
mod shape;
mod snippet;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod unknown;
mod value;

use std::{env, fs, path::Path, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, Method};
use serde_json::Value;

pub use error::{PolicyError, PolicyErrors, RelatedPlace};
pub use explanation::Explanation;
pub(crate) use matcher::{Matcher, RouteMatch, Way, host_of};
pub(crate) use rule::Rule;

use crate::kill_switch;

/// The largest file that is read, so that a wrong path does not fill the memory.
const MOST_BYTES: u64 = 1024 * 1024;

/// A policy file that was read and is right in itself.
///
/// Whether its routes exist is only known to the router. Clones share everything.
#[derive(Debug, Clone)]
pub struct PolicyFile(Arc<Checked>);

#[derive(Debug)]
struct Checked {
    name: Arc<str>,
    version: String,
    request: RequestBudget,
    allow_change: Vec<String>,
    rules: Vec<Rule>,
}

/// What a request has in time; `None`: not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestBudget {
    pub(crate) deadline: Option<Duration>,
    /// Whole milliseconds, which may shorten the deadline.
    pub(crate) header: Option<HeaderName>,
}

impl PolicyFile {
    /// Reads `text` with the environment of the process. `name` is the file's in errors.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, PolicyErrors> {
        Self::parse_with(name, text, |variable| env::var(variable).ok())
    }

    /// Reads `text` with another environment than the process'.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse_with(
        name: &str,
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PolicyErrors> {
        if text.len() as u64 > MOST_BYTES {
            return Err(too_large(name));
        }
        parse::parse(name, text, &environment).map(|checked| Self(Arc::new(checked)))
    }

    /// Reads the file at `path`, with the environment of the process. It blocks for as long as the
    /// file system does.
    ///
    /// # Errors
    ///
    /// When it cannot be read, has more than 1 MiB or is no UTF-8, and everything that is wrong
    /// with it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PolicyErrors> {
        let path = path.as_ref();
        Self::of_bytes(path, Self::bytes(path)?)
    }

    /// What stands in the file at `path` now.
    pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, PolicyErrors> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| {
            let help = "check the path and the rights of the process";
            PolicyErrors::of_file(&name, format!("the file cannot be read: {error}"), help)
        };
        if fs::metadata(path).map_err(unreadable)?.len() > MOST_BYTES {
            return Err(too_large(&name));
        }
        fs::read(path).map_err(unreadable)
    }

    /// As [`read`](Self::read), of what stood in the file at `path`.
    pub(crate) fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, PolicyErrors> {
        let name = path.display().to_string();
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(&name, &text),
            Err(error) => Err(parse::not_utf8(&name, &error)),
        }
    }

    /// What tells this file from others: the first 12 hex digits of the SHA-256 of its text, after
    /// its environment variables were replaced.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The rules' names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules().iter().map(|rule| &*rule.name)
    }

    /// Which rule counts for a request, with which keys, and where each value was said. The path is
    /// a request's, such as `/orders/7?page=2`; the host is taken from the headers.
    ///
    /// The router's routes are not known here: it is as if they were the paths of the rules, so of
    /// `/orders/{id}` and `/orders/latest` the latter is the route of `/orders/latest`.
    #[must_use]
    pub fn explain(&self, method: &Method, path: &str, headers: &HeaderMap) -> Explanation {
        explain::explain(&self.0, method, path, headers, kill_switch::in_force)
    }

    /// The JSON Schema (2020-12) of policy files, for editors.
    #[must_use]
    pub fn schema() -> Value {
        schema::schema()
    }

    pub(crate) fn request(&self) -> &RequestBudget {
        &self.0.request
    }

    /// Whether a new version may lock otherwise under this name than the old one.
    pub(crate) fn allows_change(&self, name: &str) -> bool {
        self.0.allow_change.iter().any(|allowed| allowed == name)
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.0.rules
    }
}

fn too_large(name: &str) -> PolicyErrors {
    let help = "a policy file has at most 1 MiB";
    PolicyErrors::of_file(name, "the file is too large".to_owned(), help)
}
