//! What is known of each field of a policy file.

use super::{
    shape::Shape,
    tables::{ANSWER, ANSWERS, FILE, HEADER, MATCH, MISSING, ON_BUSY, POLICY, REQUEST},
};

/// One field of a table.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// What counts when it is not written; `None`: it has to be.
    pub(super) default: Option<&'static str>,
    pub(super) doc: &'static str,
    /// Whether `[defaults]` may say it for all rules.
    pub(super) inherited: bool,
    /// Why a rule for an attribute cannot say it.
    pub(super) not_on_attributes: Option<&'static str>,
}

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    File,
    Request,
    Defaults,
    Policy,
    Match,
    Header,
    Missing,
    OnBusy,
    Answers,
    Answer,
}

impl Table {
    pub(super) const ALL: [Self; 10] = [
        Self::File,
        Self::Request,
        Self::Defaults,
        Self::Policy,
        Self::Match,
        Self::Header,
        Self::Missing,
        Self::OnBusy,
        Self::Answers,
        Self::Answer,
    ];

    /// How it is written in a file.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::File => "the file",
            Self::Request => "[request]",
            Self::Defaults => "[defaults]",
            Self::Policy => "[[policy]]",
            Self::Match => "match",
            Self::Header => "header",
            Self::Missing => "on_missing_key",
            Self::OnBusy => "on_busy",
            Self::Answers => "answers",
            Self::Answer => "an answer",
        }
    }

    pub(super) fn fields(self) -> impl Iterator<Item = &'static Field> {
        let fields = match self {
            Self::File => FILE,
            Self::Request => REQUEST,
            Self::Defaults | Self::Policy => POLICY,
            Self::Match => MATCH,
            Self::Header => HEADER,
            Self::Missing => MISSING,
            Self::OnBusy => ON_BUSY,
            Self::Answers => ANSWERS,
            Self::Answer => ANSWER,
        };
        fields.iter().filter(move |field| self != Self::Defaults || field.inherited)
    }
}
