//! Printing what a command came to.

use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

use serde_json::Value;

use crate::outcome::{Exit, Failure, Outcome};

/// Prints the outcome and gives the exit code that belongs to it.
pub(crate) fn print(outcome: Outcome, as_json: bool) -> ExitCode {
    let (exit, text, note) = match outcome {
        Ok(answer) if as_json => (answer.exit, pretty(&answer.json), String::new()),
        Ok(answer) => (answer.exit, answer.text, answer.note),
        Err(failure) if as_json => (failure.exit, pretty(&failure.to_json()), String::new()),
        Err(failure) => (failure.exit, String::new(), in_words(&failure)),
    };
    // Where stderr is closed nobody is left to be told.
    let _ = write_line(io::stderr().lock(), &note);
    let exit = match write_line(io::stdout().lock(), &text) {
        Ok(()) => exit,
        // `| head` has seen enough.
        Err(why) if why.kind() == ErrorKind::BrokenPipe => exit,
        Err(why) => {
            let told = format!("error: the output cannot be written: {why}");
            let _ = write_line(io::stderr().lock(), &told);
            Exit::Output
        }
    };
    ExitCode::from(exit as u8)
}

pub(crate) fn pretty(json: &Value) -> String {
    format!("{json:#}")
}

fn in_words(failure: &Failure) -> String {
    match failure.errors {
        // The library's own text says "error" with the place.
        Some(_) => failure.message.clone(),
        None => format!("error: {}", failure.message),
    }
}

fn write_line(mut to: impl Write, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    writeln!(to, "{text}")?;
    to.flush()
}
