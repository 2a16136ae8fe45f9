//! What was observed: recognised by its first line that is one of a scrape or of a shadow log.

use std::path::PathBuf;

use super::{
    input::Lines,
    scrape::{self, Scrape},
    shadow_log::{self, ShadowLog},
};
use crate::outcome::CommandError;

/// The contents of the files.
pub(crate) enum Observations {
    ShadowLog(ShadowLog),
    /// The second scrape less the first, or what one has counted since the start of its process.
    Scrape(Scrape),
}

const NEITHER: &str = "give a scrape of a service's metrics, or its log with the target \
                       `lock_tower::shadow` at the level `debug`";

/// Reads the files: the shadow logs of several instances, or one or two scrapes.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Observations, CommandError> {
    let mut log = ShadowLog::default();
    let mut scrapes: Vec<Scrape> = Vec::new();
    for path in paths {
        let mut lines = Lines::open(path)?;
        let mut scrape = None;
        let logged = log.requests.len();
        while let Some(line) = lines.next()? {
            if shadow_log::is_one(&line) {
                log.add(&line, &lines)?;
            } else if scrape.is_some() || log.requests.len() == logged && scrape::is_one(&line) {
                scrape.get_or_insert_with(Scrape::default).add(&line, &lines)?;
            }
        }
        match scrape {
            Some(scrape) => scrapes.push(scrape.checked()?),
            None if log.requests.len() == logged => {
                return Err(lines.wrong("the file ends without metrics or a shadow log", NEITHER));
            }
            None => {}
        }
    }
    let mut scrapes = scrapes.into_iter();
    match (log.requests.is_empty(), scrapes.next(), scrapes.next(), scrapes.next()) {
        (false, None, ..) => Ok(Observations::ShadowLog(log.in_order())),
        (true, Some(only), None, _) => Ok(Observations::Scrape(only)),
        (true, Some(earlier), Some(later), None) => {
            Ok(Observations::Scrape(later.since(&earlier)?))
        }
        _ => Err(CommandError::usage(
            "--metrics takes one scrape, an earlier and a later one, or shadow logs; give one kind",
        )),
    }
}
