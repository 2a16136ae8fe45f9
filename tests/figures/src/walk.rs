//! One request under `RequestLockLayer` on a free lock, between functions at which a debugger stops:
//! `tests/walk` counts the functions that are entered between the first two.
//!
//! ```text
//! walk <host:port of Redis>
//! ```
#![allow(missing_docs, reason = "a program, not a library")]

mod in_step;
#[expect(dead_code, reason = "the program `repeat` sends the other requests")]
mod requests;

use std::{env, hint::black_box, time::Duration};

use axum::Router;
use lock_core::LockClient;
use lock_figures::LEASE;
use tokio::time::{self, sleep};

use self::requests::{prepared, request, under_the_layer};

/// After that many, connections, caches and everything that is made on first use exist.
const WARM_UP: usize = 10;

/// More than a release needs. Before each wait Redis answers everything, so that neither the speed of
/// Redis nor that of the debugger changes how far the release comes.
const WAITS: usize = 20;

/// More than enough for what is left of a release, if [`WAITS`] are too few.
const QUIET_WAITS: usize = 50;

/// Of tokio's clock, which is paused. All together are too few for another timer to fall due.
const WAIT: Duration = Duration::from_millis(1);

fn main() {
    let server = env::args().nth(1).expect("walk <host:port>");
    in_step::runtime(&server).block_on(walk(&format!("redis://{server}")));
}

async fn walk(url: &str) {
    // Default settings, except that leases are not renewed meanwhile, and that a busy machine may answer
    // late.
    let patience = Duration::from_secs(300);
    let client = LockClient::builder().lease(10 * LEASE).wait(patience).command_timeout(patience);
    let client = client.connect(url).await.expect("a server");
    let router = prepared(under_the_layer(client.clone()));
    request_and_release(&router, 0).await;
    // Otherwise work of timers that fall due meanwhile would be counted: the debugger is slow.
    time::pause();
    // A paused clock skips to the next timer at each wait, for an answer too.
    tokio::spawn(async {
        loop {
            sleep(WAIT).await;
        }
    });
    for number in 1..WARM_UP {
        request_and_release(&router, number).await;
    }
    way_begins();
    request_and_release(&router, WARM_UP).await;
    way_ends();
    // The debugger fails if a function is first entered here: the release was not over.
    wait(QUIET_WAITS).await;
    quiet_ends();
    assert_eq!(client.health().await.holds, 0, "the release failed");
}

async fn request_and_release(router: &Router, number: usize) {
    request(router, number).await;
    wait(WAITS).await;
}

async fn wait(times: usize) {
    for _ in 0..times {
        sleep(WAIT).await;
    }
}

#[inline(never)]
fn way_begins() {
    black_box(());
}

#[inline(never)]
fn way_ends() {
    black_box(());
}

#[inline(never)]
fn quiet_ends() {
    black_box(());
}
