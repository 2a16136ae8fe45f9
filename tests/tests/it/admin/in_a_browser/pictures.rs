//! The pictures in docs. `LOCK_TOWER_OVERWRITE=1` writes them again; then
//! `pngquant --ext .png --force docs/admin*.png` makes them small.

use lock_tests::Browser;

use super::LIVE;
use crate::admin::replicas::Replicas;

async fn picture(browser: &Browser, name: &str) {
    if std::env::var_os("LOCK_TOWER_OVERWRITE").is_some() {
        let file = format!("{}/../docs/{name}.png", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(file, browser.screenshot().await).unwrap();
    }
}

#[tokio::test]
async fn the_page_is_as_in_the_pictures() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let _deadlock = replicas.deadlock().await;
    let requests: Vec<_> = ["17", "23", "42"]
        .map(|order| Replicas::update(&replicas.first, order))
        .into_iter()
        .chain(["23", "42"].map(|order| Replicas::update(&replicas.second, order)))
        .collect();
    let _report = replicas.client().read("report:daily").name("daily report").acquire().await;
    for _ in 0..3 {
        assert!(replicas.client().write("report:daily").try_acquire().await.is_err());
    }
    browser.view(1280, 1230, "light").await;
    browser.open(&replicas.first.url("/locks")).await;
    let all = "return document.querySelectorAll('#locks tbody tr').length === 6 \
               && document.querySelectorAll('#waits tbody tr').length === 4 \
               && document.querySelectorAll('#refused rect').length > 0 \
               && document.querySelectorAll('#holds rect').length > 0 \
               && document.querySelectorAll('.deadlock a').length === 3 \
               && document.getElementById('hot').innerText.includes('report:daily') \
               && document.getElementById('locks').innerText.match(/PUT .orders/g)?.length === 3";
    browser.until("six locks with their work, four waits, a deadlock, plots", all).await;
    picture(&browser, "admin").await;
    browser.view(390, 844, "dark").await;
    picture(&browser, "admin-narrow").await;

    browser.view(1280, 530, "light").await;
    browser.open(&replicas.first.url("/locks?key=order:42")).await;
    browser.until("an update", LIVE).await;
    let waiter = "return document.getElementById('waiters').innerText.includes('PUT /orders/{id}')";
    browser.until("the waiter with its route", waiter).await;
    picture(&browser, "admin-lock").await;
    replicas.finish();
    drop(requests);
}
