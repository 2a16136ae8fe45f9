//! Lines of a file that other programs wrote: bounded, and errors have their place.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use serde_json::json;

use crate::outcome::{CommandError, Exit};

/// No line of a scrape or of a shadow log is longer; a service's other log lines may not be either,
/// so that a wrong file does not fill the memory.
const MAX_LINE: u64 = 64 * 1024;

/// A file whose lines are read one after the other.
pub(crate) struct Lines {
    name: String,
    reader: BufReader<File>,
    /// The number of the line that was read last, from 1.
    at: usize,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, CommandError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self { name, reader: BufReader::new(file), at: 0 }),
            Err(why) => Err(wrong(&name, 0, &format!("the file cannot be read: {why}"), READABLE)),
        }
    }

    /// Returns the next line without its line break; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<String>, CommandError> {
        self.at += 1;
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(MAX_LINE + 2).read_until(b'\n', &mut bytes);
        if let Err(why) = read {
            return Err(self.wrong(&format!("the file cannot be read: {why}"), READABLE));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        if bytes.len() as u64 > MAX_LINE {
            let help = "give a scrape or a shadow log; their lines are shorter than 64 KiB";
            return Err(self.wrong("the line is too long", help));
        }
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| {
            self.wrong("the line is not UTF-8", "give a scrape or a shadow log, as it was written")
        })
    }

    /// Returns an error at the line that was read last.
    pub(crate) fn wrong(&self, message: &str, help: &str) -> CommandError {
        wrong(&self.name, self.at, message, help)
    }

    /// Returns the place of the line that was read last.
    pub(crate) fn place(&self) -> Place {
        Place { file: self.name.clone(), line: self.at }
    }
}

const READABLE: &str = "check the path and the rights";

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl Place {
    pub(crate) fn wrong(&self, message: &str, help: &str) -> CommandError {
        wrong(&self.file, self.line, message, help)
    }
}

/// Returns an error in the form of those of policy files. Line 0 is the whole file.
fn wrong(file: &str, line: usize, message: &str, help: &str) -> CommandError {
    let place = if line == 0 { file.to_owned() } else { format!("{file}:{line}") };
    CommandError {
        exit: Exit::Wrong,
        kind: "file",
        message: format!("{place}: error: {message}\n  = help: {help}"),
        errors: Some(json!([{
            "file": file, "line": line, "column": usize::from(line > 0), "message": message,
            "help": help, "related": [],
        }])),
    }
}
