//! Selected text, the focus and the order of rows stay while the page is renewed.

use lock_tests::Browser;

use super::LIVE;
use crate::admin::replicas::Replicas;

/// WebDriver's code of the Enter key.
const ENTER: char = '\u{e007}';

/// Waits until the page has changed twice: the time left does so with every update.
async fn two_updates(browser: &Browser) {
    let watch = "window.updates = 0; \
                 new MutationObserver(() => { window.updates += 1; }).observe( \
                 document.getElementById('content'), \
                 { subtree: true, childList: true, characterData: true })";
    browser.run(watch).await;
    browser.until("two updates", "return window.updates >= 2").await;
}

#[tokio::test]
async fn updates_keep_the_selection_the_focus_and_the_place() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let held = ["b", "c", "d"].map(|key| replicas.client().write(key).acquire());
    let _held = futures_util::future::join_all(held).await;
    browser.view(390, 400, "light").await;
    browser.open(&replicas.first.url("/locks")).await;
    browser.until("an update", LIVE).await;
    browser
        .run(
            "window.row = document.querySelector('tr[data-key=d]'); \
             row.querySelector('a').focus(); \
             getSelection().selectAllChildren(row.querySelector('code')); \
             scrollTo(0, 300)",
        )
        .await;
    // Before and after the row: one lock appears, and one goes.
    let _earlier = replicas.client().write("a").acquire().await.unwrap();
    replicas.client().force_release("c").await.unwrap();
    two_updates(&browser).await;
    let keys = "return [...document.querySelectorAll('#locks tbody tr')].map((row) => row.dataset.key).join()";
    assert_eq!(browser.run(keys).await, "a,b,d");
    assert_eq!(browser.run("return row === document.querySelector('tr[data-key=d]')").await, true);
    assert_eq!(browser.run("return document.activeElement === row.querySelector('a')").await, true);
    assert_eq!(browser.run("return getSelection().toString()").await, "d");
    assert_eq!(browser.run("return scrollY > 0").await, true);

    browser.open(&replicas.first.url("/locks?key=d")).await;
    browser.until("an update", LIVE).await;
    browser
        .run(
            "window.owner = document.querySelector('#holders tr[data-key] td:last-child code'); \
             getSelection().selectAllChildren(owner); \
             document.getElementById('force').focus()",
        )
        .await;
    two_updates(&browser).await;
    let kept = "return getSelection().toString() === owner.innerText && owner.isConnected \
                && owner.innerText.includes(':') && document.activeElement.id === 'force'";
    assert_eq!(browser.run(kept).await, true);
}

#[tokio::test]
async fn a_column_that_is_clicked_stays_sorted_and_the_servers_order_returns() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let held = ["order:17", "order:5", "report"].map(|key| replicas.client().write(key).acquire());
    let _held = futures_util::future::join_all(held).await;
    let [_, second] = replicas.clients() else { panic!("two replicas") };
    tokio::spawn(second.write("order:5").wait(lock_tests::LIMIT).acquire());
    browser.open(&replicas.first.url("/locks")).await;
    let waits =
        "return document.querySelector('tr[data-key=\"order:5\"]')?.innerText.includes('longest')";
    browser.until("a waiter", waits).await;
    let rows = "return [...document.querySelectorAll('#locks tbody tr')].map((row) => row.dataset.key).join()";
    let sorted = "return [...document.querySelectorAll('#locks th')] \
                  .map((header) => header.getAttribute('aria-sort')).join('')";
    let click =
        |column: usize| format!("document.querySelectorAll('#locks th button')[{column}].click()");
    assert_eq!(browser.run(rows).await, "order:17,order:5,report");
    assert_eq!(browser.run(sorted).await, "");

    browser.run(&click(0)).await;
    two_updates(&browser).await;
    assert_eq!(browser.run(rows).await, "order:5,order:17,report", "numbers by their value");
    assert_eq!(browser.run(sorted).await, "ascending");

    browser.run("document.querySelector('#locks th button').focus()").await;
    browser.press(ENTER).await;
    two_updates(&browser).await;
    assert_eq!(browser.run(rows).await, "report,order:17,order:5");
    assert_eq!(browser.run(sorted).await, "descending");
    browser.press(ENTER).await;
    assert_eq!(browser.run(rows).await, "order:17,order:5,report", "as the server has them");
    assert_eq!(browser.run(sorted).await, "");

    // Waiters, the most first.
    browser.run(&click(6)).await;
    browser.run(&click(6)).await;
    assert_eq!(browser.run(rows).await, "order:5,order:17,report");
}
