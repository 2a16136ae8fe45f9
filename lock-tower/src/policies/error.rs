use lock_policy::{__private::Rule, PolicyErrors};
use thiserror::Error;

/// Why a policy file does not come into force. What was in force before stays so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PoliciesError {
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] PolicyErrors),
    /// A rule answers by a function that the service has not registered.
    #[error(
        "the policy `{policy}` (line {line}) falls back to `{fallback}`, which is not registered \
         ({known}): add `.fallback(\"{fallback}\", ..)` before the file is read"
    )]
    UnknownFallback {
        /// The rule.
        policy: String,
        /// Where it begins in the file.
        line: usize,
        /// What it names.
        fallback: String,
        /// What there is.
        known: String,
    },
    /// A rule of the new version locks otherwise than the one of that name that is in force, so
    /// requests under the one and under the other would not exclude each other.
    #[error(
        "the policy {} would lock otherwise than before, so requests under the old and the new \
         version would not exclude each other. Start the service anew with it; or, if an overlap \
         does no harm, name the rule in the file: allow_change = [{}]",
        .0.iter().map(|change| format!("`{}` ({})", change.policy, change.what)).collect::<Vec<_>>().join(", "),
        .0.iter().map(|change| format!("\"{}\"", change.policy)).collect::<Vec<_>>().join(", ")
    )]
    ExclusionChanged(Vec<ExclusionChange>),
    /// The policies were not read from a file.
    #[error("these policies were not read from a file: there is nothing to reload")]
    NoFile,
}

/// How a rule of a new version would not exclude requests under the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExclusionChange {
    /// The rule's name.
    pub policy: String,
    /// What has changed: `key`, `kind`, `mode`, or several of them.
    pub what: String,
}

impl PoliciesError {
    pub(super) fn unknown_fallback(rule: &Rule, fallback: &str, known: Vec<String>) -> Self {
        Self::UnknownFallback {
            policy: rule.name.to_string(),
            line: rule.line,
            fallback: fallback.to_owned(),
            known: match known.as_slice() {
                [] => "none is".to_owned(),
                known => format!("there are: {}", known.join(", ")),
            },
        }
    }
}
