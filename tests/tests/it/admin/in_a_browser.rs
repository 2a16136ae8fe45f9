use lock_tests::Browser;

use super::replicas::Replicas;

const LOCKS: &str = "document.querySelector('#locks tbody').innerText";

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
    let live = "return document.getElementById('state').innerText === 'live'";
    browser.until("that it is live", live).await;
}

#[tokio::test]
async fn waiters_stand_in_order_and_a_lock_is_released_on_request_and_by_force() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let holder = Replicas::update(&replicas.first, "7");
    browser.open(&replicas.first.url("/locks")).await;
    browser.until("the lock", &format!("return {LOCKS}.includes('order:7')")).await;
    browser.run("document.querySelector('#locks a').click()").await;
    browser.until("its page", "return location.search === '?key=order%3A7'").await;
    browser.until("no waiter", "return document.querySelector('#waiters') === null").await;
    let waiter = Replicas::update(&replicas.second, "7");
    let waits = "const rows = document.querySelectorAll('#waiters tbody tr'); \
                 return rows.length === 1 && rows[0].innerText.includes('orders replica-2') \
                 && rows[0].innerText.includes('PUT /orders/{id}')";
    browser.until("the waiter with its route", waits).await;
    if std::env::var_os("LOCK_TOWER_OVERWRITE").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/admin-lock.png");
        std::fs::write(file, browser.screenshot().await).unwrap();
    }

    browser.run("document.getElementById('request').click()").await;
    assert_eq!(holder.await.unwrap(), (200, "released on request".to_owned()));
    let outcome = "document.getElementById('outcome').innerText";
    let requested = format!("return {outcome} === 'Requested of 1 holders.'");
    browser.until("what the request did", &requested).await;
    let next = "return document.querySelector('#holders tbody').innerText.includes('replica-2')";
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
    browser.until("an event", "return document.getElementById('state').innerText === 'live'").await;
    assert_eq!(browser.run(&format!("return {link}")).await, key);
    assert_eq!(browser.run("return document.querySelectorAll('img').length").await, 0);
    browser.run("document.querySelector('#locks a').click()").await;
    browser.until("its page", "return document.querySelector('#holders') !== null").await;
    assert_eq!(browser.run("return document.querySelector('h2 code').innerText").await, key);
    assert_eq!(browser.run("return document.title").await, key);
    assert_eq!(browser.run("return document.getElementById('release').dataset.key").await, key);
    assert_eq!(browser.run("return document.querySelectorAll('img').length").await, 0);
}

/// `LOCK_TOWER_OVERWRITE=1` writes the picture in docs again.
#[tokio::test]
async fn the_page_is_as_in_the_picture() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let requests: Vec<_> = ["17", "23", "42"]
        .map(|order| Replicas::update(&replicas.first, order))
        .into_iter()
        .chain(["23", "42"].map(|order| Replicas::update(&replicas.second, order)))
        .collect();
    let _report = replicas.client().read("report:daily").name("daily report").acquire().await;
    let refused = async || replicas.client().write("report:daily").try_acquire().await.is_err();
    for _ in 0..3 {
        assert!(refused().await);
    }
    browser.open(&replicas.first.url("/locks")).await;
    let all = "return document.querySelectorAll('#locks tbody tr').length === 4 \
               && document.querySelectorAll('#waits tbody tr').length === 2 \
               && document.querySelectorAll('#process rect').length === 1 \
               && document.querySelector('#hot tbody')?.innerText.includes('report:daily') \
               && document.querySelector('#locks tbody').innerText.match(/PUT .orders/g)?.length === 3";
    browser.until("four locks with what they are for, two waits, a bar of refusals", all).await;
    if std::env::var_os("LOCK_TOWER_OVERWRITE").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/admin.png");
        std::fs::write(file, browser.screenshot().await).unwrap();
    }
    replicas.finish();
    drop(requests);
}
