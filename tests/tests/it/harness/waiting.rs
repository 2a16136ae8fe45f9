//! Waits end, and name the awaited condition when they fail.

use std::future::Future;
use std::time::Duration;

use lock_tests::{LIMIT, bounded, eventually, free_port};

const SHORT: Duration = Duration::from_millis(20);

async fn failure(future: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(future).await.unwrap_err().into_panic();
    *panic.downcast::<String>().unwrap()
}

#[tokio::test]
async fn eventually_repeats_until_it_is_true() {
    let mut requested = 0;
    let third = async || {
        requested += 1;
        requested == 3
    };
    eventually("the third time", LIMIT, third).await;
    assert_eq!(requested, 3);
}

#[tokio::test]
async fn eventually_names_the_missing_condition() {
    let text = failure(eventually("rain", SHORT, async || false)).await;
    assert!(text.contains("for rain"), "{text}");
    assert!(text.contains(file!()), "{text}");
}

#[tokio::test]
async fn eventually_does_not_hang_on_one_question() {
    let silent = async || std::future::pending().await;
    let text = failure(eventually("an answer", SHORT, silent)).await;
    assert!(text.contains("for an answer"), "{text}");
}

#[tokio::test]
async fn bounded_gives_the_output_or_fails() {
    assert_eq!(bounded(LIMIT, async { 7 }).await, 7);
    let text = failure(bounded(SHORT, std::future::pending())).await;
    assert!(text.contains("not ready") && text.contains(file!()), "{text}");
}

#[test]
fn a_port_is_given_once() {
    let mut ports: Vec<u16> = (0..100).map(|_| free_port()).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 100);
}
