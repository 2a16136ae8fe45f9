//! What was read of a file, by the names of its fields.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use http::StatusCode;

use super::text::Text;
use crate::Enforce;

/// The fields of one table that were legal.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The table, or its header.
    pub(super) span: Range<usize>,
    pub(super) read: BTreeMap<&'static str, Read>,
    /// The fields that were written, whether or not they were legal.
    pub(super) written: Vec<&'static str>,
    /// Whether all that was written was legal, in the tables inside too.
    pub(super) is_whole: bool,
}

#[derive(Debug)]
pub(super) struct Read {
    pub(super) key: Range<usize>,
    pub(super) span: Range<usize>,
    /// With its variables replaced, for `explain`.
    pub(super) shown: String,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Version,
    Text(Text),
    Texts(Vec<Text>),
    Word(&'static str),
    Words(Vec<&'static str>),
    Duration(Duration),
    Flag(bool),
    Count(usize),
    Status(StatusCode),
    Enforce(Enforce),
    Table(Fields),
    Tables(Vec<Fields>),
}

impl Value {
    /// In words, when its place in the file may have others.
    pub(super) fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Text(text) => text.value.clone(),
            Self::Word(word) => (*word).to_owned(),
            Self::Duration(duration) => format!("{duration:?}"),
            Self::Enforce(enforce) => enforce.to_string(),
            _ => return None,
        })
    }
}

impl Read {
    pub(super) fn word(&self) -> Option<&'static str> {
        if let Value::Word(word) = self.value { Some(word) } else { None }
    }

    pub(super) fn duration(&self) -> Option<Duration> {
        if let Value::Duration(duration) = self.value { Some(duration) } else { None }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        if let Value::Flag(flag) = self.value { Some(flag) } else { None }
    }

    pub(super) fn table(&self) -> Option<&Fields> {
        if let Value::Table(fields) = &self.value { Some(fields) } else { None }
    }
}

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&Read> {
        self.read.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&Text> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn texts(&self, name: &str) -> Option<&[Text]> {
        match &self.get(name)?.value {
            Value::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    pub(super) fn words(&self, name: &str) -> Option<&[&'static str]> {
        match &self.get(name)?.value {
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    pub(super) fn status(&self) -> Option<StatusCode> {
        match self.get("status")?.value {
            Value::Status(status) => Some(status),
            _ => None,
        }
    }

    pub(super) fn table(&self, name: &str) -> Option<&Fields> {
        self.get(name)?.table()
    }

    pub(super) fn tables(&self, name: &str) -> &[Fields] {
        match self.get(name).map(|read| &read.value) {
            Some(Value::Tables(tables)) => tables,
            _ => &[],
        }
    }
}
