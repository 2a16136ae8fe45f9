//! What workers write down: one line of JSON for each thing that happens, in the order in which
//! the worker saw it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Nanos,
    keys::{Access, Family},
};

/// One line. `n` is the number of the acquisition within its process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Record {
    /// It is about to send its request.
    Ask {
        n: u64,
        at: Nanos,
        family: Family,
        access: Access,
        keys: Vec<String>,
        wait: Nanos,
        lease: Nanos,
        /// For how long the store keeps it when nothing is sent any more.
        kept: Nanos,
    },
    /// It was not granted.
    Refused { n: u64, at: Nanos, why: Refusal },
    /// It was granted; belief lasts for `left` unless it is renewed.
    Grant { n: u64, at: Nanos, left: Nanos, tokens: Vec<Option<u64>> },
    /// The acquisition is one of a parked hold, by this ticket.
    Resume { n: u64, ticket: String },
    /// The hold was left to the one that resumes it by this ticket, and lasts until then at least.
    Parked { n: u64, at: Nanos, until: Nanos, ticket: String },
    /// A check of a long hold: it is still relied upon.
    Look { n: u64, at: Nanos, left: Nanos },
    /// Until `last` it was held in one mode, from `at` on in another.
    Mode { n: u64, last: Nanos, at: Nanos, access: Access, token: Option<u64> },
    /// It is over. `last`: the last look that found it held. `deadline`: until when belief would
    /// have lasted, as that look was reported.
    End { n: u64, last: Nanos, at: Nanos, deadline: Nanos, how: Ending },
    /// Whether the release was confirmed.
    Freed { n: u64, at: Nanos, confirmed: bool },
    /// The process did not run between these moments.
    Stood { from: Nanos, at: Nanos },
    /// A row of faults that the worker carried out itself.
    Row { row: u8, at: Nanos },
    /// It saw something that must not be.
    Wrong { at: Nanos, what: String },
    /// It has executed all its commands.
    Finished { at: Nanos },
}

/// Why an acquisition was not granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Refusal {
    Busy,
    Overloaded,
    /// It may be held for that many milliseconds, and why there was no answer.
    Unavailable(u64, String),
    Lost,
    /// By a newer caller of the key.
    Replaced,
    /// Another caller has made the result that it wanted.
    Found,
    /// The parked hold has ended, or another one has resumed it.
    Gone,
    WrongKind,
    Draining,
    /// The worker dropped the future.
    Cancelled,
    /// What no acquisition of the campaign should end with.
    Other(String),
}

/// How a hold ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ending {
    Released,
    Dropped,
    Panicked,
    /// In order, because a newer caller requested it.
    Replaced,
    /// The cause that was reported.
    Lost(String),
}

/// Where a worker writes. A line is in the kernel's hands when `write` returns, so a process that
/// is killed has lost at most the line that it was about to write.
#[derive(Debug)]
pub(crate) struct Log(Mutex<File>);

impl Log {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(File::create(path)?)))
    }

    pub(crate) fn write(&self, record: &Record) {
        let mut line = serde_json::to_vec(record).expect("BUG: a record is JSON");
        line.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).expect("cannot write the history");
    }
}

/// All lines of a worker; one that was cut by a kill is left out.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Record>> {
    let lines = BufReader::new(File::open(path)?).lines();
    lines.filter_map(|line| line.map(|line| serde_json::from_str(&line).ok()).transpose()).collect()
}
