//! The end of a client.

use lock_core::AcquireError;

use super::{Case, case};
use crate::schedules::{
    polled::{Polled, polled},
    two_clients::{LONG, ms},
};

pub(super) fn cases() -> Vec<Case> {
    vec![case("client/mod.rs::shutdown", "while a lock is held", |world, polls| async move {
        let guard = world.here.write("k").acquire().await.unwrap();
        let scope = world.here.scope();
        let waiting = tokio::spawn(world.here.write("k").wait(LONG).in_scope(&scope).acquire());
        tokio::time::sleep(ms(1)).await;
        world.begin();
        let held = async {
            tokio::time::sleep(ms(200)).await;
            drop(guard);
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            ended = polled(world.here.shutdown(LONG), polls) => ended,
            () = held => unreachable!("it never ends"),
        };
        world.end();
        if polls > 0 {
            let refused = waiting.await.unwrap().unwrap_err();
            assert!(matches!(refused, AcquireError::Draining), "{refused}");
            let refused = world.here.read("a").acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::Draining), "it grants nothing more");
        } else {
            waiting.abort();
        }
        if !matches!(ended, Polled::Ready(Ok(()))) {
            // Called again, it continues to wait.
            world.here.shutdown(LONG).await.unwrap();
        }
        ended.is_over()
    })]
}
