use lock_policy::{__private::Rule, PolicyErrors};
use thiserror::Error;

/// The reason why a policy file does not come into force. The version before it stays in force.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PoliciesError {
    /// The file is invalid.
    #[error(transparent)]
    File(#[from] PolicyErrors),
    /// A rule names a fallback function that the service has not registered.
    #[error(
        "the policy `{policy}` (line {line}) falls back to `{fallback}`, which is not registered \
         ({known}): add `.fallback(\"{fallback}\", ..)` before the file is read"
    )]
    UnknownFallback {
        /// The rule's name.
        policy: String,
        /// The line where the rule begins in the file.
        line: usize,
        /// The function that the rule names.
        fallback: String,
        /// The registered functions.
        known: String,
    },
    /// A rule of the new version changes the key, kind or mode of the rule of that name in force,
    /// so requests under the two rules would not exclude each other.
    #[error(
        "the policy {} changes its key, kind or mode, so requests under the old and the new \
         version would not exclude each other. Restart the service to use it; or, if an overlap \
         does no harm, name the rule in the file: allow_change = [{}]",
        .0.iter().map(|change| format!("`{}` ({})", change.policy, change.what)).collect::<Vec<_>>().join(", "),
        .0.iter().map(|change| format!("\"{}\"", change.policy)).collect::<Vec<_>>().join(", ")
    )]
    ExclusionChanged(Vec<ExclusionChange>),
    /// The policies were not read from a file.
    #[error("these policies were not read from a file: there is nothing to reload")]
    NoFile,
}

/// A rule whose new version would not exclude requests under the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExclusionChange {
    /// The rule's name.
    pub policy: String,
    /// The changed settings: `key`, `kind`, `mode`, or several of them.
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
