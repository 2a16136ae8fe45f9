//! Lines of a file that other programs wrote: bounded, and errors have their place.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use super::ObservedError;

/// No line of a scrape or of a shadow log is longer; a service's other log lines may not be either,
/// so that a wrong file does not fill the memory.
const MAX_LINE: u64 = 64 * 1024;

/// A file whose lines are read one after the other.
#[derive(Debug)]
pub struct Lines<R> {
    name: String,
    reader: R,
    /// The number of the line that was read last, from 1.
    at: usize,
}

impl Lines<BufReader<File>> {
    pub fn open(path: &Path) -> Result<Self, ObservedError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::new(name, BufReader::new(file))),
            Err(why) => Err(wrong(&name, 0, &format!("the file cannot be read: {why}"), READABLE)),
        }
    }
}

impl<R: BufRead> Lines<R> {
    pub fn new(name: String, reader: R) -> Self {
        Self { name, reader, at: 0 }
    }

    /// Returns the next line without its line break; `None` at the end of the file.
    pub fn next_line(&mut self) -> Result<Option<String>, ObservedError> {
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
    pub fn wrong(&self, message: &str, help: &str) -> ObservedError {
        wrong(&self.name, self.at, message, help)
    }

    /// Returns the place of the line that was read last.
    pub fn place(&self) -> Place {
        Place { file: self.name.clone(), line: self.at }
    }
}

const READABLE: &str = "check the path and the rights";

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: usize,
}

impl Place {
    pub fn wrong(&self, message: &str, help: &str) -> ObservedError {
        wrong(&self.file, self.line, message, help)
    }
}

/// Returns an error. Line 0 is the whole file.
fn wrong(file: &str, line: usize, message: &str, help: &str) -> ObservedError {
    let (file, message, help) = (file.to_owned(), message.to_owned(), help.to_owned());
    ObservedError::File { file, line, message, help }
}
