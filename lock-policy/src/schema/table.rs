//! The description of a field and of a table.

use super::{
    fields::{
        ANSWER, ANSWERS, FILE, HEADER, LOCK, MATCH, MISSING, OUTCOMES, PERMITS_FOR, POLICY, REQUEST,
    },
    value_type::ValueType,
};

/// One field of a table.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) value_type: ValueType,
    /// The default; `None` if the field is required.
    pub(crate) default: Option<&'static str>,
    pub(crate) doc: &'static str,
    /// Whether `[defaults]` may set it for all rules.
    pub(crate) inherited: bool,
    /// Why a rule for an attribute cannot set it.
    pub(crate) not_on_attributes: Option<&'static str>,
}

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    File,
    Request,
    Defaults,
    Policy,
    Match,
    Header,
    Lock,
    PermitsFor,
    Missing,
    Answers,
    Answer,
}

impl Table {
    pub(crate) const ALL: [Self; 11] = [
        Self::File,
        Self::Request,
        Self::Defaults,
        Self::Policy,
        Self::Match,
        Self::Header,
        Self::Lock,
        Self::PermitsFor,
        Self::Missing,
        Self::Answers,
        Self::Answer,
    ];

    /// Returns the table's header in a file.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::File => "the file",
            Self::Request => "[request]",
            Self::Defaults => "[defaults]",
            Self::Policy => "[[policy]]",
            Self::Match => "match",
            Self::Header => "header",
            Self::Lock => "locks",
            Self::PermitsFor => "permits_for",
            Self::Missing => "on_missing_key",
            Self::Answers => "answers",
            Self::Answer => "an answer",
        }
    }

    pub(crate) fn fields(self) -> impl Iterator<Item = &'static Field> {
        let fields = match self {
            Self::File => FILE,
            Self::Request => REQUEST,
            Self::Defaults | Self::Policy => POLICY,
            Self::Match => MATCH,
            Self::Header => HEADER,
            Self::Lock => LOCK,
            Self::PermitsFor => PERMITS_FOR,
            Self::Missing => MISSING,
            Self::Answers => ANSWERS,
            Self::Answer => ANSWER,
        };
        let statuses = match self {
            Self::Defaults | Self::Policy => OUTCOMES,
            _ => &[],
        };
        let fields = fields.iter().chain(statuses.iter().map(|(_, _, status)| *status));
        fields.filter(move |field| self != Self::Defaults || field.inherited)
    }
}
