use lock_tests::{Browser, http};
use serde_json::json;

use crate::admin::replicas::Replicas;

const MEMBERS: &str =
    "[...document.querySelectorAll('.deadlock a')].map((link) => link.innerText).join()";

#[tokio::test]
async fn a_deadlock_is_shown_with_links_to_its_members_until_it_ends() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    browser.open(&replicas.first.url("/locks")).await;
    assert_eq!(browser.run(&format!("return {MEMBERS}")).await, "");
    let _deadlock = replicas.deadlock().await;
    let shown = format!("return {MEMBERS} === 'account:7,account:9,account:7'");
    browser.until("the circle", &shown).await;
    let list = http::get(&replicas.first.url("/locks?format=json")).await.json();
    assert_eq!(list["deadlocks"], json!([["account:7", "account:9"]]));

    // From the holder to the lock that it waits for, and from the waiter there back to what it holds.
    let wanted = "document.querySelector('#locks tr[data-key=\"account:7\"] .wanted a')";
    browser.until("a link", &format!("return {wanted}?.innerText === 'account:9'")).await;
    browser.run(&format!("{wanted}.click()")).await;
    let held = "document.querySelector('#waiters .held a')";
    browser.until("its waiter", &format!("return {held}?.innerText === 'account:7'")).await;
    browser.until("the circle there too", &shown).await;
    browser.run(&format!("{held}.click()")).await;
    browser.until("the page before", "return location.search === '?key=account%3A7'").await;
    browser.until("the circle here too", &shown).await;

    replicas.client().force_release("account:9").await.unwrap();
    browser.until("that it is gone", &format!("return {MEMBERS} === ''")).await;
}
