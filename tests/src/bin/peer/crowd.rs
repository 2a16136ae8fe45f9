//! Work that goes wrong unless the lock excludes.

use crate::{
    kind::Kind,
    thread::{Failure, Thread},
};

const WAIT_MS: u64 = 60_000;

/// Increments a counter in separate steps, which only the lock makes atomic; a reader checks that no
/// other process does so meanwhile.
pub(crate) async fn run(
    thread: &mut Thread,
    kind: Kind,
    key: &str,
    counter: &str,
    turns: u32,
) -> Result<String, Failure> {
    let counter = thread.counters.get(counter)?;
    for turn in 0..turns {
        let held = thread.acquire(kind, key, WAIT_MS, 0).await?;
        if !held.starts_with("held") {
            return Err(format!("{held} in turn {turn}").into());
        }
        let count = counter.read().await?;
        if kind.is_shared() {
            let again = counter.read().await?;
            if again != count {
                return Err(format!("read {count}, then {again} in turn {turn}").into());
            }
        } else {
            counter.write(count + 1).await?;
        }
        let released = thread.release(kind, key).await?;
        if released != "released" {
            return Err(format!("{released} in turn {turn}").into());
        }
    }
    Ok("done".to_owned())
}
