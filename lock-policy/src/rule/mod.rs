//! Builds the rules that lock requests from the values of the fields.

pub(crate) mod build;
pub(crate) mod common_keys;
mod effective_fields;
pub(crate) mod fair_reads;
pub(crate) mod inherited_read;
pub(crate) mod keys;
mod locks;
pub(crate) mod not_enforced;
mod permits_for;
pub(crate) mod replace;
pub(crate) mod routes;
pub(crate) mod slow_clients;
pub(crate) mod validate;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::HeaderName;
use lock_core::Kind;

use crate::{
    diagnostics::PolicyError,
    key::KeyTemplates,
    matching::Matcher,
    settings::{LockMode, LockSettings, OnMissingKey},
};

pub use permits_for::PermitsFor;

/// The contents of a file without errors.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    pub(crate) name: Arc<str>,
    pub(crate) version: String,
    pub(crate) request: RequestBudget,
    pub(crate) allow_change: Vec<String>,
    pub(crate) warnings: Vec<PolicyError>,
    pub(crate) rules: Vec<Rule>,
}

/// The deadline of requests; `None` if not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestBudget {
    /// How long a request may take.
    pub deadline: Option<Duration>,
    /// The header with whole milliseconds that may shorten the deadline.
    pub header: Option<HeaderName>,
}

/// One rule, combined with the file's defaults.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The name of the rule.
    pub name: Arc<str>,
    /// The requests or the attribute that the rule applies to.
    pub matcher: Matcher,
    /// The kind; `None` if not set.
    pub kind: Option<Kind>,
    /// The mode; `None` if not set.
    pub mode: Option<LockMode>,
    /// The keys; `None` for an attribute only.
    pub keys: Option<Arc<KeyTemplates>>,
    /// How to handle a request without a key.
    pub on_missing_key: OnMissingKey,
    /// Other numbers of permits for some requests; the first that applies counts.
    pub permits_for: Vec<PermitsFor>,
    /// All other settings.
    pub settings: LockSettings,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The values in the file, by the names of the fields.
    pub origins: BTreeMap<&'static str, FieldOrigin>,
}

/// A value of a rule, and the place where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOrigin {
    /// The value as the file has it.
    pub shown: String,
    pub line: usize,
    pub by_defaults: bool,
}
