//! On a wide screen and on a telephone, in the light and in the dark.

use lock_tests::Browser;

use crate::admin::replicas::Replicas;

const UPDATED: &str = "const state = document.getElementById('state'); \
                       return state === null || state.innerText === 'live'";

async fn check(browser: &Browser, url: &str, ready: &str) {
    for width in [1280, 390] {
        for theme in ["light", "dark"] {
            browser.view(width, 800, theme).await;
            browser.open(url).await;
            browser.until("what the page shows", &format!("return {ready}")).await;
            // By the script, which adds buttons. A refusal has none.
            browser.until("an update", UPDATED).await;
            let broken = browser.broken_rules().await;
            assert!(broken.is_empty(), "{url} {width} {theme}: {broken:?}");
            let wide = browser.run("return document.documentElement.scrollWidth").await;
            assert!(wide.as_u64() <= Some(width.into()), "{url} {width} {theme}: {wide} pixels");
        }
    }
}

#[tokio::test]
async fn no_rule_of_accessibility_is_broken_and_nothing_is_wider_than_the_window() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let list = replicas.first.url("/locks");
    check(&browser, &list, "document.querySelector('#locks .empty') !== null").await;
    check(&browser, &format!("{list}?limit=x"), "document.querySelector('.bad') !== null").await;
}

#[tokio::test]
async fn no_rule_of_accessibility_is_broken_by_a_full_page() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let long = format!("import:{}", "a-customer-with-a-long-name.".repeat(8));
    let _held = replicas.client().write(long.as_str()).acquire().await.unwrap();
    assert!(replicas.client().write(long.as_str()).try_acquire().await.is_err());
    let _deadlock = replicas.deadlock().await;
    let list = replicas.first.url("/locks");
    let deadlock = "document.querySelector('.deadlock') !== null";
    let full = "document.querySelectorAll('#waits tbody tr').length === 2 \
                && document.querySelector('#hot td') !== null \
                && document.querySelector('#refused rect') !== null";
    check(&browser, &list, &format!("{deadlock} && {full}")).await;
    let waiter = "document.querySelector('#waiters td') !== null";
    check(&browser, &format!("{list}?key=account:7"), &format!("{deadlock} && {waiter}")).await;
    browser.run("document.getElementById('force').click()").await;
    let broken = browser.broken_rules().await;
    assert!(broken.is_empty(), "with the dialog open: {broken:?}");
}
