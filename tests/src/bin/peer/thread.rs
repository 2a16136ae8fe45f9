//! One logical thread: its scope and the guards it has.

use std::{collections::HashMap, error::Error};

use lock_core::{AcquireError, ReleaseError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{counter::Counters, crowd, guard::Guard, kind::Kind, stores::Stores};

pub(crate) type Failure = Box<dyn Error>;

pub(crate) struct Thread {
    stores: Stores,
    pub(crate) counters: Counters,
    guards: HashMap<(Kind, String), Vec<Guard>>,
}

impl Thread {
    pub(crate) fn start(stores: Stores, counters: Counters) -> UnboundedSender<String> {
        let (sender, lines) = unbounded_channel();
        let scope = stores.main().scope();
        let thread = Self { stores, counters, guards: HashMap::new() };
        tokio::spawn(async move { scope.run(thread.work(lines)).await });
        sender
    }

    async fn work(mut self, mut lines: UnboundedReceiver<String>) {
        while let Some(line) = lines.recv().await {
            let words: Vec<_> = line.split(' ').collect();
            let answer = self.answer(&words[1..]).await;
            let answer = answer.unwrap_or_else(|failure| format!("error {failure}"));
            println!("#{} {}", words[0], answer.replace('\n', " "));
        }
    }

    async fn answer(&mut self, words: &[&str]) -> Result<String, Failure> {
        let [verb, kind, key, arguments @ ..] = words else {
            return Err("a verb, a kind and a key".into());
        };
        let kind: Kind = kind.parse()?;
        match (*verb, arguments) {
            ("acquire", [wait, lease]) => {
                self.acquire(kind, key, wait.parse()?, lease.parse()?).await
            }
            ("release", []) => self.release(kind, key).await,
            ("servers", []) => self.servers(kind, key),
            ("holds", []) => Ok(kind.hold_count(self.stores.main(), key).await?.to_string()),
            ("locked", []) => Ok(kind.is_locked(self.stores.main(), key).await?.to_string()),
            ("held", []) => Ok(self.held(kind, key).to_string()),
            ("lost", []) => self.lost(kind, key).await,
            ("revoked", []) => self.revoked(kind, key).await,
            ("revoke", []) => self.revoke(key).await,
            ("force", []) => self.force(key).await,
            ("crowd", [counter, turns]) => {
                crowd::run(self, kind, key, counter, turns.parse()?).await
            }
            _ => Err(format!("no verb {verb} with {arguments:?}").into()),
        }
    }

    pub(crate) async fn acquire(
        &mut self,
        kind: Kind,
        key: &str,
        wait_ms: u64,
        lease_ms: u64,
    ) -> Result<String, Failure> {
        let guard = match Guard::acquire(&self.stores, kind, key, wait_ms, lease_ms).await {
            Ok(guard) => guard,
            Err(AcquireError::Busy(_)) => return Ok("busy".to_owned()),
            Err(other) => return Err(other.into()),
        };
        let token = guard.token().filter(|_| kind.tells_token());
        self.guards.entry((kind, key.to_owned())).or_default().push(guard);
        Ok(token.map_or("held".to_owned(), |token| format!("held {token}")))
    }

    pub(crate) async fn release(&mut self, kind: Kind, key: &str) -> Result<String, Failure> {
        let guards = self.guards.entry((kind, key.to_owned())).or_default();
        match guards.pop() {
            None => Ok("gone".to_owned()),
            Some(guard) => match guard.release().await {
                Ok(()) => Ok("released".to_owned()),
                Err(ReleaseError::Lost(_)) => Ok("gone".to_owned()),
                Err(other) => Err(other.into()),
            },
        }
    }

    /// Forces its release and returns whether it was held.
    async fn force(&self, key: &str) -> Result<String, Failure> {
        Ok(self.stores.main().force_release(key).await?.was_held.to_string())
    }

    /// Whether the thread relies on its lock.
    fn held(&self, kind: Kind, key: &str) -> bool {
        self.guard(kind, key).is_some_and(Guard::is_held)
    }

    /// On how many servers the thread has its lock.
    fn servers(&self, kind: Kind, key: &str) -> Result<String, Failure> {
        match self.guard(kind, key) {
            Some(Guard::Red(guard)) => Ok(guard.servers_held().to_string()),
            _ => Err("no RedLock is held".into()),
        }
    }

    /// Answers when the thread has learnt that its lock is lost.
    async fn lost(&self, kind: Kind, key: &str) -> Result<String, Failure> {
        let guard = self.guard(kind, key).ok_or("nothing is held")?;
        guard.lost().await;
        Ok("lost".to_owned())
    }

    /// Answers when the release of its lock has been requested.
    async fn revoked(&self, kind: Kind, key: &str) -> Result<String, Failure> {
        let guard = self.guard(kind, key).ok_or("nothing is held")?;
        guard.release_requested().await;
        Ok("revoked".to_owned())
    }

    /// Requests the release from the holders.
    async fn revoke(&self, key: &str) -> Result<String, Failure> {
        let holders = self.stores.main().request_release(key).await?;
        Ok(if holders == 0 { "free" } else { "requested" }.to_owned())
    }

    fn guard(&self, kind: Kind, key: &str) -> Option<&Guard> {
        self.guards.get(&(kind, key.to_owned()))?.last()
    }
}
