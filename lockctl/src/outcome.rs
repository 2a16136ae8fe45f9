//! What a command comes to.

use lock_tower::policy_file::PolicyErrors;
use serde_json::{Value, json};

/// The process' exit code. The help has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Wrong = 1,
    Usage = 2,
    Nothing = 3,
    Redis = 4,
    Output = 5,
}

pub(crate) type Outcome = Result<Answer, Failure>;

/// What a command found or did.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: Exit,
    /// For stdout. Empty: nothing.
    pub(crate) text: String,
    /// For stderr: what is no part of the result. Empty: nothing.
    pub(crate) note: String,
    /// Instead of both.
    pub(crate) json: Value,
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// For programs; the help has the list.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// What is wrong with a policy file, one by one. The message is theirs then.
    pub(crate) errors: Option<Value>,
}

impl Answer {
    /// What was asked for by `--help` or `--version`, which is no JSON in any case.
    pub(crate) fn help(text: &str) -> Self {
        let text = text.trim_end().to_owned();
        Self { exit: Exit::Done, text, note: String::new(), json: Value::Null }
    }
}

impl Failure {
    pub(crate) fn usage(message: &str) -> Self {
        let message = message.trim_end();
        let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
        Self { exit: Exit::Usage, kind: "usage", message, errors: None }
    }

    pub(crate) fn redis(message: String) -> Self {
        Self { exit: Exit::Redis, kind: "redis", message, errors: None }
    }

    pub(crate) fn not_a_lock(message: String) -> Self {
        Self { exit: Exit::Wrong, kind: "not_a_lock", message, errors: None }
    }

    pub(crate) fn to_json(&self) -> Value {
        let (exit, kind, message) = (self.exit as u8, self.kind, &self.message);
        let mut error = json!({ "exit": exit, "kind": kind, "message": message });
        if let Some(errors) = &self.errors {
            error["errors"] = errors.clone();
        }
        json!({ "error": error })
    }
}

impl From<PolicyErrors> for Failure {
    fn from(errors: PolicyErrors) -> Self {
        let (message, errors) = (errors.to_string(), Some(errors.to_json()));
        Self { exit: Exit::Wrong, kind: "file", message, errors }
    }
}
