//! In a real browser.

mod accessibility;
mod deadlock;
mod pictures;
mod updates;

use lock_tests::Browser;

use super::replicas::Replicas;

const LOCKS: &str = "document.getElementById('locks').innerText";
const LIVE: &str = "return document.getElementById('state').innerText === 'live'";

#[tokio::test]
async fn a_lock_appears_when_a_request_takes_it_and_goes_when_it_ends() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    browser.open(&replicas.first.url("/locks")).await;
    assert_eq!(browser.run("return document.title").await, "Locks");
    let empty = "return document.body.innerText.includes('No lock is held')";
    browser.until("an empty list", empty).await;
    let request = Replicas::update(&replicas.second, "7");
    // Nothing is reloaded.
    let shown =
        format!("return {LOCKS}.includes('order:7') && {LOCKS}.includes('orders replica-2')");
    browser.until("the lock of the request", &shown).await;
    replicas.finish();
    assert_eq!(request.await.unwrap(), (200, "done".to_owned()));
    browser.until("an empty list again", empty).await;
    // Longer than one response of events.
    browser.until("that it is live", LIVE).await;
}

#[tokio::test]
async fn waiters_stand_in_order_and_a_lock_is_released_on_request_and_by_force() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let holder = Replicas::update(&replicas.first, "7");
    browser.open(&replicas.first.url("/locks")).await;
    browser.until("the lock", &format!("return {LOCKS}.includes('order:7')")).await;
    browser.run("document.querySelector('#locks a').click()").await;
    browser.until("its page", "return location.search === '?key=order%3A7'").await;
    let no_waiter =
        "return document.getElementById('waiters').innerText.includes('No request waits')";
    browser.until("no waiter", no_waiter).await;
    let waiter = Replicas::update(&replicas.second, "7");
    let waits = "const rows = document.querySelectorAll('#waiters tbody tr'); \
                 return rows.length === 1 && rows[0].innerText.includes('orders replica-2') \
                 && rows[0].innerText.includes('PUT /orders/{id}')";
    browser.until("the waiter with its route", waits).await;

    browser.run("document.getElementById('request').click()").await;
    assert_eq!(holder.await.unwrap(), (200, "released on request".to_owned()));
    let outcome = "document.getElementById('outcome').innerText";
    let requested = format!("return {outcome} === 'Requested of 1 holder.'");
    browser.until("what the request did", &requested).await;
    let next = "return document.getElementById('holders').innerText.includes('replica-2')";
    browser.until("the next holder", next).await;

    browser.run("document.getElementById('force').click()").await;
    let confirm = "const dialog = document.getElementById('confirm'); \
                   return dialog.open && dialog.innerText.includes('may still write')";
    browser.until("the confirmation that names what it does", confirm).await;
    browser.run("document.getElementById('keep').click()").await;
    browser.until("that it is closed", "return !document.getElementById('confirm').open").await;
    assert!(!waiter.is_finished(), "it was kept");
    browser.run("document.getElementById('force').click()").await;
    browser.run("document.getElementById('confirmed').click()").await;
    let (status, problem) = waiter.await.unwrap();
    assert!(status == 503 && problem.contains("lock-lost"), "{status} {problem}");
    let taken = format!("return {outcome}.startsWith('Taken away. New fencing token: ')");
    browser.until("what the force did", &taken).await;
    let gone = "return document.getElementById('summary').innerText.startsWith('Not held')";
    browser.until("that it is not held", gone).await;
}

#[tokio::test]
async fn a_key_with_html_does_no_harm() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let key = "<img src=x onerror=document.title='harm'><script>document.title='harm'</script>\"'&";
    let _guard = replicas.client().write(key).acquire().await.unwrap();
    let link = "document.querySelector('#locks a').innerText";
    browser.open(&replicas.first.url("/locks")).await;
    assert_eq!(browser.run(&format!("return {link}")).await, key);
    // Once more, as an event writes it.
    browser.until("an event", LIVE).await;
    assert_eq!(browser.run(&format!("return {link}")).await, key);
    assert_eq!(browser.run("return document.querySelectorAll('img').length").await, 0);
    browser.run("document.querySelector('#locks a').click()").await;
    browser.until("its page", "return document.querySelector('#holders td') !== null").await;
    assert_eq!(browser.run("return document.querySelector('h2 code').innerText").await, key);
    assert_eq!(browser.run("return document.title").await, key);
    assert_eq!(browser.run("return document.getElementById('release').dataset.key").await, key);
    assert_eq!(browser.run("return document.querySelectorAll('img').length").await, 0);
}
