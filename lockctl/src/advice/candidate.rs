//! Another setting of a rule, and what it would cost.

use serde_json::{Value, json};

use super::figures::Figures;

/// Whether the diff has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// What the rule has.
    Present,
    /// In the diff.
    Proposed,
    /// For comparison.
    Possible,
    /// It changes which requests exclude each other: only a person can decide that.
    Person,
}

impl Decision {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Proposed => "proposed",
            Self::Possible => "possible",
            Self::Person => "person",
        }
    }
}

/// A value of one field of a rule, as the policy file would have it.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) field: &'static str,
    pub(crate) value: String,
    /// `None` if only its reason is known.
    pub(crate) figures: Option<Figures>,
    pub(crate) decision: Decision,
}

/// The advice for one rule.
#[derive(Debug, Default)]
pub(crate) struct RuleAdvice {
    pub(crate) name: String,
    /// The line of the rule in the policy file, from 1.
    pub(crate) line: usize,
    pub(crate) requests: u64,
    /// Empty if there were too few observations.
    pub(crate) candidates: Vec<Candidate>,
    /// Why something is proposed, or is not.
    pub(crate) remarks: Vec<String>,
}

impl RuleAdvice {
    pub(crate) fn to_json(&self) -> Value {
        let candidates = self.candidates.iter().map(|candidate| {
            json!({
                "field": candidate.field,
                "value": candidate.value,
                "decision": candidate.decision.as_str(),
                "figures": candidate.figures.map(Figures::to_json),
            })
        });
        json!({
            "name": self.name,
            "line": self.line,
            "requests": self.requests,
            "candidates": candidates.collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}
