use std::time::Duration;

use super::table::Table;

/// The type of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// The number 1.
    Version,
    /// A text, with an example.
    Text(&'static str),
    /// Texts, with an example.
    Texts(&'static str),
    Word(&'static [&'static str]),
    Words(&'static [&'static str]),
    /// From this minimum to a year.
    Duration(Duration),
    Flag,
    Count,
    /// From this least one to 599.
    Status(u16),
    Enforce,
    Table(Table),
    /// `[[name]]`.
    Tables(Table),
    /// One table or an array of tables.
    OneOrMore(Table),
    WordOrTable(&'static [&'static str], Table),
}

impl ValueType {
    /// Describes the legal values, for errors and documentation.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Version => "the number 1".to_owned(),
            Self::Text(example) => format!("a text, such as \"{example}\""),
            Self::Texts(example) => format!("a list of texts, such as [\"{example}\"]"),
            Self::Word(words) => one_of(words),
            Self::Words(words) => format!("a list of {}", one_of(words)),
            Self::Duration(Duration::ZERO) => {
                "a duration, such as \"0s\", \"250ms\", \"2s\" or \"1m\"".to_owned()
            }
            Self::Duration(_) => "a duration, such as \"250ms\", \"2s\" or \"1m\"".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count => "a whole number, such as 100".to_owned(),
            Self::Status(least) => format!("a status from {least} to 599"),
            Self::Enforce => {
                "\"on\", \"shadow\", \"off\" or a percentage, such as \"25%\"".to_owned()
            }
            Self::Table(table) => format!("a table with {}", names(table)),
            Self::Tables(table) => format!("tables headed `{}`", table.title()),
            Self::OneOrMore(table) => format!("a table with {}, or a list of them", names(table)),
            Self::WordOrTable(words, table) => {
                format!("{} or a table with {}", one_of(words), names(table))
            }
        }
    }
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn names(table: Table) -> String {
    let names: Vec<_> = table.fields().map(|field| format!("`{}`", field.name)).collect();
    match table {
        Table::Defaults => "the fields of a rule".to_owned(),
        Table::Answers => "the names of outcomes, such as `lost`".to_owned(),
        _ => names.join(", "),
    }
}
