//! Deletes the znodes that a release could not delete.
//!
//! A znode lives for as long as its session, which may be forever. So a deletion is repeated until
//! it is confirmed or the session has ended, whether or not a caller still waits for it.

use std::{sync::Arc, time::Duration};

use futures_util::{
    future::ready,
    stream::{self, StreamExt},
};
use lock_store::runtime::Backoff;
use tokio_util::sync::CancellationToken;

use super::{
    contenders::{Contender, Contenders},
    sessions::Sessions,
};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How many contenders are deleted at the same time.
const AT_ONCE: usize = 64;

/// Leaves a contender to the cleanup, unless it is certain that nothing of it is left.
pub(crate) struct AbandonOnDrop<'a> {
    contenders: &'a Contenders,
    contender: &'a Arc<Contender>,
    is_done: bool,
}

impl<'a> AbandonOnDrop<'a> {
    pub(crate) fn new(contenders: &'a Contenders, contender: &'a Arc<Contender>) -> Self {
        Self { contenders, contender, is_done: false }
    }

    /// Nothing of it is in the store.
    pub(crate) fn done(mut self) {
        self.is_done = true;
        self.contenders.remove(self.contender);
    }
}

impl Drop for AbandonOnDrop<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.contenders.abandon(self.contender);
        }
    }
}

/// Runs until the store is closed.
pub(crate) async fn run(
    contenders: Arc<Contenders>,
    sessions: Arc<Sessions>,
    closed: CancellationToken,
) {
    let clean = async {
        loop {
            contenders.abandoned_some.notified().await;
            let mut backoff = Backoff::new(FIRST_PAUSE);
            loop {
                // At once: one after the other, the last of thousands would keep its lock from all others for
                // as many round trips.
                let abandoned = stream::iter(contenders.take_abandoned()).map(async |contender| {
                    (!delete(&contender, &sessions).await).then_some(contender)
                });
                let deleted = abandoned.buffer_unordered(AT_ONCE);
                let left: Vec<_> = deleted.filter_map(ready).collect().await;
                if left.is_empty() {
                    break;
                }
                // Put back before the pause: those that are abandoned meanwhile join them, and
                // share the next round.
                left.iter().for_each(|contender| contenders.abandon(contender));
                tokio::time::sleep(backoff.next(LONGEST_PAUSE)).await;
            }
        }
    };
    tokio::select! {
        () = clean => {}
        () = closed.cancelled() => {}
    }
}

/// Returns whether nothing of it is left.
async fn delete(contender: &Contender, sessions: &Sessions) -> bool {
    // The client is closed: its session ends, and the ensemble deletes everything in it.
    let Ok(session) = sessions.current().await else { return true };
    if session.number != contender.session {
        // The ensemble deletes its znodes with its session, if it has not. A client that was without an answer
        // for seven fifths of the timeout cannot return to that session.
        return true;
    }
    let mut state = contender.state.lock().await;
    for znode in state.znodes() {
        if znode.delete(&session).await.is_err() {
            return false;
        }
    }
    true
}
