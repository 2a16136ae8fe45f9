//! Work that goes wrong unless the lock excludes.

use lock_tests::Cli;

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
    let cli = thread.cli.clone().ok_or("a crowd needs one server")?;
    for turn in 0..turns {
        let held = thread.acquire(kind, key, WAIT_MS, 0).await?;
        if !held.starts_with("held") {
            return Err(format!("{held} in turn {turn}").into());
        }
        let count = count(&cli, counter).await?;
        if kind.is_shared() {
            let again = self::count(&cli, counter).await?;
            if again != count {
                return Err(format!("read {count}, then {again} in turn {turn}").into());
            }
        } else {
            let () = cli.query(&["SET", counter, &(count + 1).to_string()]).await;
        }
        let released = thread.release(kind, key).await?;
        if released != "released" {
            return Err(format!("{released} in turn {turn}").into());
        }
    }
    Ok("done".to_owned())
}

async fn count(cli: &Cli, counter: &str) -> Result<u64, Failure> {
    Ok(cli.string(counter).await.as_deref().unwrap_or("0").parse()?)
}
