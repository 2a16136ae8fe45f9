//! The values read from a file, by the names of the fields.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use http::StatusCode;

use super::spanned_text::Text;
use crate::settings::Enforce;

/// The valid fields of one table.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// The position of the table, or of its header.
    pub(crate) span: Range<usize>,
    pub(crate) read: BTreeMap<&'static str, Read>,
    /// The fields present, valid or not.
    pub(crate) written: Vec<&'static str>,
    /// Whether all fields present are valid, including those of nested tables.
    pub(crate) is_whole: bool,
}

#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) key: Range<usize>,
    pub(crate) span: Range<usize>,
    /// The value with its variables replaced, for `explain`.
    pub(crate) shown: String,
    pub(crate) value: Value,
}

#[derive(Debug)]
pub(crate) enum Value {
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
    /// Returns the value as text if a file may write it in several ways.
    pub(crate) fn shown(&self) -> Option<String> {
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
    pub(crate) fn word(&self) -> Option<&'static str> {
        if let Value::Word(word) = self.value { Some(word) } else { None }
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        if let Value::Duration(duration) = self.value { Some(duration) } else { None }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        if let Value::Flag(flag) = self.value { Some(flag) } else { None }
    }

    pub(crate) fn table(&self) -> Option<&Fields> {
        if let Value::Table(fields) = &self.value { Some(fields) } else { None }
    }
}

impl Fields {
    pub(crate) fn get(&self, name: &str) -> Option<&Read> {
        self.read.get(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&Text> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Option<&[Text]> {
        match &self.get(name)?.value {
            Value::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    pub(crate) fn words(&self, name: &str) -> Option<&[&'static str]> {
        match &self.get(name)?.value {
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Fields> {
        self.get(name)?.table()
    }

    pub(crate) fn tables(&self, name: &str) -> &[Fields] {
        match self.get(name).map(|read| &read.value) {
            Some(Value::Tables(tables)) => tables,
            _ => &[],
        }
    }
}
