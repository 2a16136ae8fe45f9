//! The result of a command.

use lock_policy::PolicyErrors;
use serde_json::{Value, json};

/// The exit code of the process. The help text has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Wrong = 1,
    Usage = 2,
    Nothing = 3,
    Store = 4,
    Output = 5,
}

pub(crate) type CommandResult = Result<CommandOutput, CommandError>;

/// The result of a command that was executed.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) exit: Exit,
    /// Printed on stdout unless empty.
    pub(crate) text: String,
    /// Printed on stderr unless empty; not a part of the result.
    pub(crate) note: String,
    /// Printed instead of both with `--json`, unless it is null.
    pub(crate) json: Value,
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    /// For programs; the help text has the list.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// The errors of a policy file one by one; `message` then has the same errors as text.
    pub(crate) errors: Option<Value>,
}

impl CommandOutput {
    /// The output of `--help` or `--version`, which is never JSON.
    pub(crate) fn help(text: &str) -> Self {
        let text = text.trim_end().to_owned();
        Self { exit: Exit::Done, text, note: String::new(), json: Value::Null }
    }

    /// The output of a command that has printed everything itself.
    pub(crate) fn nothing() -> Self {
        Self::help("")
    }
}

impl CommandError {
    pub(crate) fn usage(message: &str) -> Self {
        let message = message.trim_end();
        let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
        Self { exit: Exit::Usage, kind: "usage", message, errors: None }
    }

    pub(crate) fn store(message: String) -> Self {
        Self { exit: Exit::Store, kind: "store", message, errors: None }
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

impl From<PolicyErrors> for CommandError {
    fn from(errors: PolicyErrors) -> Self {
        let (message, errors) = (errors.to_string(), Some(errors.to_json()));
        Self { exit: Exit::Wrong, kind: "file", message, errors }
    }
}
