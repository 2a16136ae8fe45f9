use std::{collections::BTreeMap, sync::Arc};

use lock_core::Kind;

use super::matcher::Matcher;
use crate::{LockMode, OnMissingKey, conduct::Conduct, key::KeyTemplates};

/// One rule, with the file's defaults in it.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) matcher: Matcher,
    /// `None`: not said.
    pub(crate) kind: Option<Kind>,
    /// `None`: not said.
    pub(crate) mode: Option<LockMode>,
    /// `None` for an attribute, and only for one.
    pub(crate) keys: Option<Arc<KeyTemplates>>,
    pub(crate) on_missing_key: OnMissingKey,
    pub(crate) conduct: Conduct,
    /// Where it begins, from 1.
    pub(crate) line: usize,
    /// What the file says, by the names of the fields.
    pub(crate) origins: BTreeMap<&'static str, Said>,
}

/// A value of a rule, and where it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// As the file has it.
    pub(crate) shown: String,
    pub(crate) line: usize,
    pub(crate) by_defaults: bool,
}
