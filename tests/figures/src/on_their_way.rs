//! Releases that are not awaited.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tokio::time::sleep;

#[derive(Clone, Default)]
pub struct OnTheirWay(Arc<AtomicUsize>);

impl OnTheirWay {
    /// On its way before whatever this task requests next, which may be of the same key.
    pub fn send(&self, release: impl Future<Output = ()> + Send + 'static) {
        let mut release = Box::pin(release);
        if release.as_mut().now_or_never().is_some() {
            return;
        }
        // A task owns it: redis-rs skips a command whose future was dropped.
        let count = Arc::clone(&self.0);
        count.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            release.await;
            count.fetch_sub(1, Ordering::Relaxed);
        });
    }

    pub async fn settled(&self) {
        while self.0.load(Ordering::Relaxed) > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}
