//! What was observed: recognised by its first line that is one of a scrape or of a shadow log.

pub mod histogram;
pub mod lines;
pub mod scrape;
mod series;
pub mod shadow_log;

use std::{io::BufRead, path::PathBuf};

use self::{lines::Lines, scrape::Scrape, shadow_log::ShadowLog};

/// Why files cannot be used.
#[derive(Debug)]
pub enum ObservedError {
    /// What is wrong with a line of a file, and what to do. Line 0 is the whole file.
    File { file: String, line: usize, message: String, help: String },
    /// The files do not belong together.
    Mixed,
}

/// The contents of the files.
#[derive(Debug)]
pub enum Observations {
    ShadowLog(ShadowLog),
    /// The second scrape less the first, or what one has counted since the start of its process.
    Scrape(Scrape),
}

const NEITHER: &str = "give a scrape of a service's metrics, or its log with the target \
                       `lock_tower::shadow` at the level `debug`";

/// Reads the files: the shadow logs of several instances, or one or two scrapes.
pub fn read(paths: &[PathBuf]) -> Result<Observations, ObservedError> {
    let mut reader = Observed::default();
    for path in paths {
        reader.add(Lines::open(path)?)?;
    }
    reader.finish()
}

/// Files that were read so far.
#[derive(Debug, Default)]
pub struct Observed {
    log: ShadowLog,
    scrapes: Vec<Scrape>,
}

impl Observed {
    /// Reads a file.
    pub fn add<R: BufRead>(&mut self, mut lines: Lines<R>) -> Result<(), ObservedError> {
        let mut scrape = None;
        let logged = self.log.requests.len();
        while let Some(line) = lines.next_line()? {
            if shadow_log::is_one(&line) {
                self.log.add(&line, &lines)?;
            } else if scrape.is_some() || self.log.requests.len() == logged && scrape::is_one(&line)
            {
                scrape.get_or_insert_with(Scrape::default).add(&line, &lines)?;
            }
        }
        match scrape {
            Some(scrape) => self.scrapes.push(scrape.checked()?),
            None if self.log.requests.len() == logged => {
                return Err(lines.wrong("the file ends without metrics or a shadow log", NEITHER));
            }
            None => {}
        }
        Ok(())
    }

    /// Returns what the files have together.
    pub fn finish(self) -> Result<Observations, ObservedError> {
        let mut scrapes = self.scrapes.into_iter();
        match (self.log.requests.is_empty(), scrapes.next(), scrapes.next(), scrapes.next()) {
            (false, None, ..) => Ok(Observations::ShadowLog(self.log.in_order())),
            (true, Some(only), None, _) => Ok(Observations::Scrape(only)),
            (true, Some(earlier), Some(later), None) => {
                Ok(Observations::Scrape(later.since(&earlier)?))
            }
            _ => Err(ObservedError::Mixed),
        }
    }
}
