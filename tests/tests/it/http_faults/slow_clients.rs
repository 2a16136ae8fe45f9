//! Clients that send or read slowly hold a lock no longer than `max_hold`, and delay no other when
//! they leave.

use ::http::Method;
use lock_tests::Wire;

use crate::http_faults::{asking::head, two_replicas::TwoReplicas};

/// Its body is read before its lock is acquired.
#[tokio::test]
async fn clients_that_never_end_their_bodies_hold_no_lock() {
    let world = TwoReplicas::new(Wire::Native).await;
    let mut slow = Vec::new();
    for replica in [0, 1, 0, 1] {
        let mut client = world.raw(replica).await;
        client.send(&head("/work/k/0", 1_000)).await;
        client.send("a").await;
        slow.push(client);
    }
    for replica in [0, 1, 0, 1] {
        assert_eq!(world.ask(replica, Method::POST, "/work/k/0").await, "done");
    }
    drop(slow);
    world.ends_well(&["k"]).await;
}

#[tokio::test]
async fn a_slow_upload_is_cut_short_and_the_next_request_served() {
    let world = TwoReplicas::new(Wire::Native).await;
    let mut slow = world.raw(0).await;
    slow.send(&head("/upload/k", 1_000)).await;
    slow.send("a").await;
    world.inside("k", 1).await;
    let next = world.ask(1, Method::POST, "/work/k/0");
    let dawdle = async {
        for _ in 0..10 {
            slow.send("b").await;
            tokio::time::sleep(crate::http_faults::two_replicas::ms(20)).await;
        }
        slow.read_until("\"unknown\"").await
    };
    let (next, cut) = tokio::join!(next, dawdle);
    assert_eq!(next, "done");
    assert!(cut.starts_with("HTTP/1.1 503") && cut.contains("lock-lost"), "{cut}");
    world.ends_well(&["k"]).await;
}

#[tokio::test]
async fn an_upload_that_is_broken_off_gives_its_lock_back_at_once() {
    let world = TwoReplicas::new(Wire::Native).await;
    for _ in 0..5 {
        let mut broken = world.raw(0).await;
        broken.send(&head("/upload/k", 1_000)).await;
        broken.send("a").await;
        world.inside("k", 1).await;
        broken.reset();
        assert_eq!(world.ask(1, Method::POST, "/work/k/0").await, "done");
    }
    let mut whole = world.raw(0).await;
    whole.send(&head("/upload/k", 4)).await;
    whole.send("abcd").await;
    let read = whole.read_until("4 bytes").await;
    assert!(read.starts_with("HTTP/1.1 200"), "{read}");
    world.ends_well(&["k"]).await;
}

#[tokio::test]
async fn a_slow_reader_under_the_lock_is_sent_no_more() {
    let world = TwoReplicas::new(Wire::Native).await;
    let mut slow = world.raw(0).await;
    slow.send(&head("/download/k", 0)).await;
    let mut read = slow.read_until("\r\n\r\n").await.len();
    assert_eq!(world.ask(1, Method::POST, "/work/k/0").await, "done");
    // What lay in the sockets comes, and then the end, without the end of the body.
    let rest = slow.read_to_end().await;
    read += rest.len();
    assert!(read < 256 * 1024 * 1024 && !rest.ends_with("0\r\n\r\n"), "{read} bytes");
    world.ends_well(&["k"]).await;
}

#[tokio::test]
async fn a_client_that_leaves_while_reading_releases_at_once() {
    let world = TwoReplicas::new(Wire::Native).await;
    for _ in 0..5 {
        let mut reader = world.raw(0).await;
        reader.send(&head("/download/k", 0)).await;
        reader.read_until("xxx").await;
        reader.reset();
        assert_eq!(world.ask(1, Method::POST, "/work/k/0").await, "done");
    }
    world.ends_well(&["k"]).await;
}
