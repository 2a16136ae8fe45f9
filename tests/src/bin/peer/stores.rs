//! The stores of this process: one, or several servers that share nothing.

use std::{env, error::Error};

use lock_core::{LockClient, LockClientBuilder, RedLock};

#[derive(Clone)]
pub(crate) struct Stores {
    clients: Vec<LockClient>,
    red_lock: Option<RedLock>,
}

impl Stores {
    /// Connects to `url`, and to the servers of `$OTHER_URLS`, which are separated by commas.
    pub(crate) async fn connect(
        builder: LockClientBuilder,
        url: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let others = env::var("OTHER_URLS").unwrap_or_default();
        let others: Vec<_> = others.split(',').filter(|url| !url.is_empty()).collect();
        let urls = || std::iter::once(url).chain(others.iter().copied());
        let mut clients = Vec::new();
        for url in urls() {
            clients.push(builder.clone().connect(url).await?);
        }
        let red_lock = match others.as_slice() {
            [] => None,
            _ => Some(builder.red_lock(urls()).await?),
        };
        Ok(Self { clients, red_lock })
    }

    /// The one that every process has.
    pub(crate) fn main(&self) -> &LockClient {
        &self.clients[0]
    }

    /// The number counts from 0, the main one's.
    pub(crate) fn number(&self, number: &str) -> &LockClient {
        let number: usize = number.parse().expect("the number of a server");
        self.clients.get(number).expect("the test names a server that was given")
    }

    pub(crate) fn red_lock(&self) -> &RedLock {
        self.red_lock.as_ref().expect("the test has given several servers")
    }
}
