//! What the locks protect: counters that are read and written in separate steps, served to the
//! workers over a Unix socket. Fenced ones follow the claiming rule; the others accept every write.
//!
//! | a worker sends | it receives |
//! |---|---|
//! | `claim <key> <token>` | the count, or `stale` when a greater token has claimed it |
//! | `write <key> <token> <count>` | `ok`, or `stale` when another token has claimed it since |
//! | `look <key>` | the count that is not fenced |
//! | `set <key> <count>` | `ok` |
//! | `made <key>` | the last round whose result was made |
//! | `make <key> <round>` | `ok` |

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::AbortHandle,
};

#[derive(Default)]
struct Counter {
    claimed_by: u64,
    count: u64,
    open: u64,
    round: u64,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) fenced_writes: u64,
    pub(crate) fenced_lost: u64,
    pub(crate) stale: u64,
    pub(crate) open_writes: u64,
    pub(crate) open_lost: u64,
}

#[derive(Default)]
struct Counters {
    of: HashMap<String, Counter>,
    tally: Tally,
}

impl Counters {
    fn answer(&mut self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let counter = self.of.entry((*words.get(1)?).to_owned()).or_default();
        let tally = &mut self.tally;
        match *words.as_slice() {
            ["claim", _, token] => {
                let token = token.parse().ok()?;
                if token < counter.claimed_by {
                    tally.stale += 1;
                    return Some("stale".to_owned());
                }
                counter.claimed_by = token;
                Some(counter.count.to_string())
            }
            ["write", _, token, count] => {
                if token.parse() != Ok(counter.claimed_by) {
                    tally.stale += 1;
                    return Some("stale".to_owned());
                }
                let count: u64 = count.parse().ok()?;
                tally.fenced_writes += 1;
                // A writer that does not continue from the present count has lost another one's write.
                tally.fenced_lost += u64::from(count != counter.count + 1);
                counter.count = count;
                Some("ok".to_owned())
            }
            ["look", _] => Some(counter.open.to_string()),
            ["set", _, count] => {
                let count: u64 = count.parse().ok()?;
                tally.open_writes += 1;
                tally.open_lost += u64::from(count != counter.open + 1);
                counter.open = count;
                Some("ok".to_owned())
            }
            ["made", _] => Some(counter.round.to_string()),
            ["make", _, round] => {
                counter.round = counter.round.max(round.parse().ok()?);
                Some("ok".to_owned())
            }
            _ => None,
        }
    }
}

/// Serves until it is dropped.
pub(crate) struct Resource {
    counters: Arc<Mutex<Counters>>,
    serving: AbortHandle,
}

impl Resource {
    pub(crate) fn serve(path: &Path) -> std::io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let counters = Arc::<Mutex<Counters>>::default();
        let shared = Arc::clone(&counters);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        Ok(Self { counters, serving: serving.abort_handle() })
    }

    pub(crate) fn tally(&self) -> Tally {
        lock(&self.counters).tally
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn converse(stream: UnixStream, counters: Arc<Mutex<Counters>>) {
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let answer = lock(&counters).answer(&line).unwrap_or_else(|| "what?".to_owned());
        if to.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

fn lock(counters: &Mutex<Counters>) -> MutexGuard<'_, Counters> {
    counters.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(counters: &mut Counters, line: &str) -> String {
        counters.answer(line).expect("a word of the protocol")
    }

    #[test]
    fn the_late_are_refused_and_lose_nothing() {
        let mut counters = Counters::default();
        assert_eq!(said(&mut counters, "claim k 5"), "0");
        assert_eq!(said(&mut counters, "claim k 7"), "0");
        assert_eq!(said(&mut counters, "write k 5 1"), "stale");
        assert_eq!(said(&mut counters, "write k 7 1"), "ok");
        assert_eq!(said(&mut counters, "claim k 6"), "stale");
        assert_eq!(counters.tally.fenced_lost, 0);
        assert_eq!(counters.tally.stale, 2);
    }

    #[test]
    fn two_of_one_token_are_noticed() {
        let mut counters = Counters::default();
        assert_eq!(said(&mut counters, "claim k 5"), "0");
        assert_eq!(said(&mut counters, "claim k 5"), "0");
        assert_eq!(said(&mut counters, "write k 5 1"), "ok");
        assert_eq!(said(&mut counters, "write k 5 1"), "ok");
        assert_eq!(counters.tally.fenced_lost, 1);
    }

    #[test]
    fn without_fencing_a_lost_write_is_counted() {
        let mut counters = Counters::default();
        assert_eq!(said(&mut counters, "look k"), "0");
        assert_eq!(said(&mut counters, "set k 1"), "ok");
        assert_eq!(said(&mut counters, "set k 1"), "ok");
        assert_eq!(counters.tally.open_lost, 1);
    }
}
