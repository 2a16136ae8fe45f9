//! An OAuth token that ten replicas use and one of them refreshes.
//!
//! When the token has expired, all replicas find that at the same time. If each of them refreshed it,
//! the authorization server would be called ten times, and with rotating refresh tokens nine of them would
//! present one that has been used. `once` lets one replica refresh it, and the others read its result.
//!
//! Without arguments ten replicas run in this process. With `REDIS_URL` it is one of them, and the file
//! `TOKEN_FILE` is where all of them store the token; in a real service that is a database or Redis:
//!
//! ```text
//! for replica in 1 2 3; do
//!   REDIS_URL=redis://127.0.0.1/ TOKEN_FILE=/tmp/token cargo run -p examples --bin oauth_token &
//! done
//! ```

use std::{
    env, io,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use futures_util::future::try_join_all;
use lock_tower::{LockClient, MemoryStore, errors::OnceError};
use tokio::{fs, time::sleep};

/// The place where all replicas store the token.
struct TokenFile(PathBuf);

impl TokenFile {
    /// Returns the stored token. (This one does not expire: a service compares its `expires_in`, less a
    /// margin, with the time, and returns `None` from then on.)
    async fn valid(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.0).await {
            Ok(token) => Ok(Some(token)),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Stores it in one step: another replica may be reading.
    async fn store(&self, token: &str, replica: &str) -> io::Result<()> {
        let new = self.0.with_extension(replica);
        fs::write(&new, token).await?;
        fs::rename(&new, &self.0).await
    }
}

/// The call to the authorization server.
async fn refresh(replica: &str) -> io::Result<String> {
    sleep(Duration::from_millis(200)).await;
    println!("replica {replica}: refreshed the token");
    Ok(format!("token-of-{replica}"))
}

/// Returns a valid token: the stored one, or one that this replica or another refreshes now.
async fn access_token(
    locks: &LockClient,
    tokens: &TokenFile,
    replica: &str,
) -> Result<String, OnceError<io::Error>> {
    let check = || tokens.valid();
    let fill = || async {
        let token = refresh(replica).await?;
        // Before the lock is released: the other replicas check at once.
        tokens.store(&token, replica).await?;
        Ok(token)
    };
    let lock = locks.write("oauth-token:partner").name("oauth-token");
    // A replica that dies while it refreshes is replaced after the lease.
    lock.lease(Duration::from_secs(5)).wait(Duration::from_secs(10)).once(check, fill).await
}

async fn replica(locks: LockClient, path: &Path, name: String) -> anyhow::Result<()> {
    let tokens = TokenFile(path.to_owned());
    let token = access_token(&locks, &tokens, &name).await?;
    println!("replica {name}: uses {token}");
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Ok(url) = env::var("REDIS_URL") {
        let path = PathBuf::from(env::var("TOKEN_FILE")?);
        return replica(LockClient::connect(&url).await?, &path, process::id().to_string()).await;
    }
    let (store, folder) = (MemoryStore::new(), tempfile::tempdir()?);
    let path = folder.path().join("token");
    let replicas = (1..=10).map(|number: u32| {
        replica(LockClient::builder().in_memory_on(&store), &path, number.to_string())
    });
    try_join_all(replicas).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_replica_refreshes_for_all() -> anyhow::Result<()> {
        let (store, folder) = (MemoryStore::new(), tempfile::tempdir()?);
        let tokens = TokenFile(folder.path().join("token"));
        let replicas = (1..=10).map(|number: u32| {
            let (locks, tokens) = (LockClient::builder().in_memory_on(&store), &tokens);
            async move { access_token(&locks, tokens, &number.to_string()).await }
        });
        let mut used = try_join_all(replicas).await?;
        used.dedup();
        // A second refresh would have another replica's name.
        assert_eq!(used.len(), 1, "{used:?}");
        assert_eq!(tokens.valid().await?, used.pop());
        Ok(())
    }
}
