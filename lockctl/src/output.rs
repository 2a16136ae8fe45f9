//! Prints the result of a command.

use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

use crate::{
    outcome::{CommandError, CommandResult, Exit},
    visible::{pretty, visible_lines},
};

/// Prints the outcome and returns its exit code.
pub(crate) fn print(outcome: CommandResult, as_json: bool) -> ExitCode {
    let (exit, text, note) = match outcome {
        Ok(answer) if as_json && answer.json.is_null() => {
            (answer.exit, String::new(), String::new())
        }
        Ok(answer) if as_json => (answer.exit, pretty(&answer.json), String::new()),
        Ok(answer) => (answer.exit, visible_lines(&answer.text), visible_lines(&answer.note)),
        Err(failure) if as_json => (failure.exit, pretty(&failure.to_json()), String::new()),
        Err(failure) => (failure.exit, String::new(), visible_lines(&in_words(&failure))),
    };
    // A closed stderr is not an error of the command.
    let _ = write_line(io::stderr().lock(), &note);
    let exit = match write_line(io::stdout().lock(), &text) {
        Ok(()) => exit,
        // The reader, such as `head`, needs no more output.
        Err(why) if why.kind() == ErrorKind::BrokenPipe => exit,
        Err(why) => {
            let message = format!("error: the output cannot be written: {why}");
            let _ = write_line(io::stderr().lock(), &message);
            Exit::Output
        }
    };
    ExitCode::from(exit as u8)
}

fn in_words(failure: &CommandError) -> String {
    match failure.errors {
        // The errors of the library already begin with the place and "error".
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
