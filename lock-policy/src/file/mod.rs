//! A policy file, read and checked.

mod parse;
#[cfg(test)]
mod tests;

use std::{env, fs::File, io::Read, path::Path, sync::Arc};

use http::{HeaderMap, Method};
use serde_json::Value;

use crate::{
    diagnostics::{PolicyError, PolicyErrors},
    explain::{self, Explanation},
    rule::{CheckedFile, RequestBudget, Rule},
    schema,
    settings::kill_switch,
};

/// The size limit of a file, so that a wrong path does not fill the memory.
const MOST_BYTES: u64 = 1024 * 1024;

/// A policy file that was read and has no errors.
///
/// Whether its routes exist is only known to the router. Clones share the contents.
#[derive(Debug, Clone)]
pub struct PolicyFile(Arc<CheckedFile>);

impl PolicyFile {
    /// Parses `text` with the environment of the process. `name` identifies the file in errors.
    ///
    /// # Errors
    ///
    /// All errors of the file.
    pub fn parse(name: &str, text: &str) -> Result<Self, PolicyErrors> {
        Self::parse_with(name, text, |variable| env::var(variable).ok())
    }

    /// Parses `text` with a different environment.
    ///
    /// # Errors
    ///
    /// All errors of the file.
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

    /// Reads the file at `path`, with the environment of the process. The call blocks until the
    /// file system has returned the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is larger than 1 MiB or is not UTF-8, and all errors of the
    /// file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PolicyErrors> {
        let path = path.as_ref();
        Self::of_bytes(path, Self::bytes(path)?)
    }

    /// Returns the current contents of the file at `path`.
    #[doc(hidden)]
    pub fn bytes(path: &Path) -> Result<Vec<u8>, PolicyErrors> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| {
            let help = "check the path and the rights of the process";
            PolicyErrors::of_file(&name, format!("the file cannot be read: {error}"), help)
        };
        // A device has no length, and no end.
        let (file, mut bytes) = (File::open(path).map_err(unreadable)?, Vec::new());
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MOST_BYTES { Err(too_large(&name)) } else { Ok(bytes) }
    }

    /// Parses contents that were read from `path`, as [`read`](Self::read) does.
    #[doc(hidden)]
    pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, PolicyErrors> {
        let name = path.display().to_string();
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(&name, &text),
            Err(error) => Err(parse::not_utf8(&name, &error)),
        }
    }

    /// Returns the file's identity: the first 12 hex digits of the SHA-256 of its text, after its
    /// environment variables were replaced.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Returns the warnings, in the order of the file: rules that are valid and may not exclude what
    /// their author meant.
    ///
    /// - A path parameter without a type, as in `order:{id}`: `7` and `007` are two locks, although
    ///   the handler may take them for one order. `{id:text}` says that this is meant.
    /// - Two key templates that give one key for some values, as `user-{id}` and `user-{id}-cart` do.
    ///   Templates that differ in the names and types of their placeholders alone are meant to. Of
    ///   rules with different kinds of lock this is an error, and so is a constant of `on_missing_key` that
    ///   the other rule's key can be.
    /// - A rule for requests that write, or for an attribute, which reads because `[defaults]` has
    ///   `mode = "read"`.
    /// - A rule for requests with `body = "stream"` or `hold_until = "body"` and without `max_hold`: a
    ///   client that sends or reads slowly holds the lock for as long as its connection lives.
    /// - A rule with `kind = "fair"`, which has no readers, for requests that read.
    /// - A rule with `enforce = "off"` or `"0%"`.
    /// - A file without a rule.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyError] {
        &self.0.warnings
    }

    /// Returns the rules' names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules().iter().map(|rule| &*rule.name)
    }

    /// Returns the rule that applies to a request, its keys, and the place where each value was
    /// set. The path is a request's, such as `/orders/7?page=2`; the host is taken from the
    /// headers.
    ///
    /// The router's routes are unknown here, so the paths of the rules are used as routes: with
    /// `/orders/{id}` and `/orders/latest`, the latter is the route of `/orders/latest`.
    #[must_use]
    pub fn explain(&self, method: &Method, path: &str, headers: &HeaderMap) -> Explanation {
        explain::explain(&self.0, method, path, headers, kill_switch::in_force)
    }

    /// Returns the JSON Schema (2020-12) of policy files, for editors.
    #[must_use]
    pub fn schema() -> Value {
        schema::json_schema::schema()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn request(&self) -> &RequestBudget {
        &self.0.request
    }

    /// Returns whether a new version may change the key, kind or mode of the rule with this name.
    #[doc(hidden)]
    #[must_use]
    pub fn allows_change(&self, name: &str) -> bool {
        self.0.allow_change.iter().any(|allowed| allowed == name)
    }

    #[doc(hidden)]
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.0.rules
    }
}

fn too_large(name: &str) -> PolicyErrors {
    let help = "a policy file has at most 1 MiB";
    PolicyErrors::of_file(name, "the file is too large".to_owned(), help)
}
