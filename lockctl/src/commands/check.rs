use std::path::PathBuf;

use lock_policy::{PolicyError, PolicyErrors, PolicyFile};
use serde_json::{Value, json};

use crate::{
    outcome::{CommandOutput, CommandResult, Exit},
    visible::visible,
};

const FIELDS: &str = "\
Environment variables in a file are replaced by those of this process. Warnings are about rules that
may lock less or more than is meant; a file that has only warnings is valid.

With --json:
  {\"files\": [{\"file\": text, \"ok\": bool, \"rules\": number | null, \"version\": text | null,
    \"errors\": [{\"file\", \"line\", \"column\", \"message\", \"help\": text | null, \"related\": [...]}],
    \"warnings\": [as errors]}]}";

/// Checks policy files and prints everything that is wrong with them, or doubtful
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// Policy files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Args {
    #[allow(clippy::unnecessary_wraps, reason = "as every command")]
    pub(crate) fn run(&self) -> CommandResult {
        let (mut right, mut notes, mut documents) = (Vec::new(), Vec::new(), Vec::new());
        let mut exit = Exit::Done;
        for path in &self.files {
            let name = path.display().to_string();
            match PolicyFile::read(path) {
                Ok(file) => {
                    right.push(line(&name, &file));
                    notes.extend(file.warnings().iter().map(ToString::to_string));
                    documents.push(document(&name, Ok(&file)));
                }
                Err(errors) => {
                    exit = Exit::Wrong;
                    notes.push(errors.to_string());
                    documents.push(document(&name, Err(&errors)));
                }
            }
        }
        Ok(CommandOutput {
            exit,
            text: right.join("\n"),
            note: notes.join("\n\n"),
            json: json!({ "files": documents }),
        })
    }
}

fn line(name: &str, file: &PolicyFile) -> String {
    let rules = file.names().count();
    let plural = if rules == 1 { "" } else { "s" };
    let name = visible(name);
    format!("ok: {name}: {rules} rule{plural}, version {}", file.version())
}

fn document(name: &str, file: Result<&PolicyFile, &PolicyErrors>) -> Value {
    json!({
        "file": name,
        "ok": file.is_ok(),
        "rules": file.ok().map(|file| file.names().count()),
        "version": file.ok().map(PolicyFile::version),
        "errors": file.err().map_or_else(|| json!([]), PolicyErrors::to_json),
        "warnings": file.map_or(&[][..], PolicyFile::warnings).iter().map(PolicyError::to_json).collect::<Value>(),
    })
}
