//! A crowd that buys over real sockets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use ::http::Method;
use lock_tests::{LIMIT, bounded, eventually, http};
use tokio::{task::JoinSet, time::sleep};

/// Between two knocks at the door of a shop that is closed.
const PAUSE: Duration = Duration::from_millis(20);

/// Buyers under way, each with a task of its own.
#[derive(Debug, Default)]
pub(crate) struct Buyers {
    tasks: JoinSet<()>,
    tally: Arc<Tally>,
}

/// What they were answered. Every buyer ends with one yes or one no.
#[derive(Debug, Default)]
struct Tally {
    sold: AtomicU32,
    refused: AtomicU32,
}

/// What a buyer makes of a connection that breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Fails,
    /// Tries again, as often as it takes.
    Repeats,
}

impl Buyers {
    /// `count` more buyers, all at once, that send requests to these shops in turn.
    pub(crate) fn come(&mut self, count: usize, urls: &[String], broken: Broken) {
        for url in urls.iter().cycle().take(count) {
            self.tasks.spawn(buy(url.clone(), broken, self.tally.clone()));
        }
    }

    /// When so many have got a positive answer.
    pub(crate) async fn have_bought(&self, units: u32) {
        let what = format!("{units} sold units");
        eventually(&what, 2 * LIMIT, async || self.sold() >= units).await;
    }

    /// When all have been answered.
    pub(crate) async fn leave(&mut self) {
        bounded(4 * LIMIT, async {
            while let Some(left) = self.tasks.join_next().await {
                left.unwrap();
            }
        })
        .await;
    }

    pub(crate) fn sold(&self) -> u32 {
        self.tally.sold.load(Ordering::SeqCst)
    }

    pub(crate) fn refused(&self) -> u32 {
        self.tally.refused.load(Ordering::SeqCst)
    }
}

async fn buy(url: String, broken: Broken, tally: Arc<Tally>) {
    let answered = loop {
        let answer = bounded(2 * LIMIT, http::request(Method::POST, &url, "")).await;
        match answer {
            Ok(reply) => match reply.status {
                200 => break &tally.sold,
                409 => break &tally.refused,
                // Nothing was done: on a slow machine the wait for so many others may be too short.
                423 => {}
                status => panic!("{url}: {status} {}", reply.text()),
            },
            Err(_) if broken == Broken::Repeats => sleep(PAUSE).await,
            Err(error) => panic!("{url}: {error}"),
        }
    };
    answered.fetch_add(1, Ordering::SeqCst);
}
