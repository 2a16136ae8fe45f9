//! From the values of the fields to the rules that requests are locked by.

pub(crate) mod build;
mod effective;
mod keys;
pub(crate) mod routes;
pub(crate) mod validate;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::HeaderName;
use lock_core::Kind;

use crate::{
    key::KeyTemplates,
    matching::Matcher,
    settings::{LockMode, LockSettings, OnMissingKey},
};

/// What was read of a file, and found to be right.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    pub(crate) name: Arc<str>,
    pub(crate) version: String,
    pub(crate) request: RequestBudget,
    pub(crate) allow_change: Vec<String>,
    pub(crate) rules: Vec<Rule>,
}

/// What a request has in time; `None`: not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestBudget {
    /// How long a request may take.
    pub deadline: Option<Duration>,
    /// Whole milliseconds, which may shorten the deadline.
    pub header: Option<HeaderName>,
}

/// One rule, with the file's defaults in it.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The name of the rule.
    pub name: Arc<str>,
    /// What the rule is for.
    pub matcher: Matcher,
    /// `None`: not said.
    pub kind: Option<Kind>,
    /// `None`: not said.
    pub mode: Option<LockMode>,
    /// `None` for an attribute, and only for one.
    pub keys: Option<Arc<KeyTemplates>>,
    /// What happens to a request that does not name its lock.
    pub on_missing_key: OnMissingKey,
    /// Everything else.
    pub settings: LockSettings,
    /// Where it begins, from 1.
    pub line: usize,
    /// What the file says, by the names of the fields.
    pub origins: BTreeMap<&'static str, FieldOrigin>,
}

/// A value of a rule, and where it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOrigin {
    /// As the file has it.
    pub shown: String,
    pub line: usize,
    pub by_defaults: bool,
}
