//! What a page of another site, open in an operator's browser, can do: nothing.

use axum::{Router, response::Html, routing::get};
use lock_tests::Browser;

use super::replicas::Replicas;
use crate::end_to_end::local_service::LocalService;

/// With a form that sends itself, as JSON as a form can send it.
fn form(target: &str) -> String {
    format!(
        "<form method=post action='{target}' enctype='text/plain'>\
         <input name='{{\"key\":\"order:7\",\"action\":\"force\",\"x\":\"' value='\"}}'></form>\
         <script>document.forms[0].submit()</script>"
    )
}

/// With scripts that send the request with the header, and without it in a form that needs no
/// permission.
fn scripts(target: &str) -> String {
    format!(
        "<script>\
         const body = JSON.stringify({{ key: 'order:7', action: 'force' }});\
         const send = (options) => fetch('{target}', {{ method: 'POST', body, ...options }})\
           .then((answer) => 'answered ' + answer.status, () => 'refused');\
         Promise.all([\
           send({{ headers: {{ 'x-lock-admin': 'release' }} }}),\
           send({{ headers: {{ 'x-lock-admin': 'release' }}, mode: 'no-cors' }}),\
           send({{ mode: 'no-cors' }}),\
         ]).then((all) => {{ document.title = all.join(); }});\
         </script>"
    )
}

#[tokio::test]
async fn forms_and_scripts_of_other_sites_release_nothing() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let target = replicas.first.url("/locks");
    let holder = Replicas::update(&replicas.second, "7");
    browser.open(&format!("{target}?key=order:7")).await;
    browser.until("the holder", "return document.querySelector('#holders td') !== null").await;
    let (with_form, with_scripts) = (form(&target), scripts(&target));
    let elsewhere = LocalService::start(
        Router::new()
            .route("/form", get(async || Html(with_form)))
            .route("/scripts", get(async || Html(with_scripts))),
    )
    .await;
    // Another site: neither the host nor the port is the same.
    let elsewhere = |path: &str| format!("http://localhost:{}{path}", elsewhere.addr.port());

    browser.open(&elsewhere("/form")).await;
    let refused = "return document.body.innerText.includes('This is not allowed here')";
    browser.until("the refusal of the form", refused).await;
    browser.open(&elsewhere("/scripts")).await;
    // What a browser sends without a permission it may not read: the status is hidden.
    browser.until("the scripts' end", "return document.title.includes(',')").await;
    let title = browser.run("return document.title").await;
    assert_eq!(title, "refused,answered 0,answered 0");

    assert!(!holder.is_finished());
    let lock = replicas.client().inspect("order:7").await.unwrap();
    assert_eq!(lock.holders.len(), 1);
    replicas.finish();
    assert_eq!(holder.await.unwrap().0, 200);
}

#[tokio::test]
async fn a_page_without_the_right_has_no_buttons_and_refuses() {
    let (replicas, browser) = tokio::join!(Replicas::start(), Browser::start());
    let holder = Replicas::update(&replicas.second, "7");
    browser.open(&replicas.first.url("/look?key=order:7")).await;
    browser.until("the holder", "return document.querySelector('#holders td') !== null").await;
    // The search, and the columns that the page is sorted by.
    let buttons =
        "return document.querySelectorAll('#release, dialog, button:not(form *, th *)').length";
    assert_eq!(browser.run(buttons).await, 0);
    browser
        .run(
            "fetch('?', { method: 'POST', headers: { 'x-lock-admin': 'release' }, \
             body: JSON.stringify({ key: 'order:7', action: 'force' }) })\
             .then((answer) => { document.title = answer.status; })",
        )
        .await;
    browser.until("the refusal", "return document.title === '403'").await;
    assert!(!holder.is_finished());
    replicas.finish();
    assert_eq!(holder.await.unwrap().0, 200);
}
