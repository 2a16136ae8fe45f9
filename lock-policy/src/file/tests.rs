//! Tests of a file's rules in the form that the runtime uses, which only this crate can access.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode, Uri, header::HOST};
use lock_core::Kind;

use super::PolicyFile;
use crate::{
    explain::explain,
    matching::{Matcher, Way, host_of},
    rule::{RequestBudget, Rule},
    schema::OF_EACH_LOCK,
    settings::{
        AnswerOverride, Enforce, HoldUntil, LockMode, LockName, LockSettings, OnBusy, OnDisconnect,
        OnLost, OnMissingKey, OnStoreDown, Outcome, Release, RequestBody,
    },
};

fn file(text: &str) -> PolicyFile {
    let text = format!("version = 1\n{text}");
    let stage = |name: &str| match name {
        "STAGE" => Some("test".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    PolicyFile::parse_with("locks.toml", &text, stage).unwrap_or_else(|errors| panic!("{errors}"))
}

const ALL: &str = r#"
[request]
deadline = "10s"
deadline_header = "X-Timeout-Ms"

[defaults]
wait = "1s"
kind = "fair"
busy_status = 429
busy_detail = "Busy."
lost_status = 500
answers = { draining = { detail = "Bye.", fallback = "stale" } }
on_missing_key = "skip"
on_disconnect = "finish"

[[policy]]
name = "all"
match = { methods = ["PUT"], path = "/a/{id}" }
key = "a:{id}"
kind = "read_write"
mode = "read"
on_missing_key = { constant = "a:none" }
wait = "0s"
reserve = "250ms"
lease = "2m"
max_hold = "2m"
renew = false
hold_at_least = "1s"
refuse_deadlock = true
refuse_early = true
max_waiters = 0
max_local_handoffs = 3
max_shared_readers = 4
hold_until = "body"
body = "stream"
body_timeout = "3s"
on_disconnect = "cancel"
on_busy = "wait"
busy_detail = "Here."
busy_fallback = "stale"
lost_status = 502
answers = { draining = { detail = "Go." } }
on_lost = "signal"
on_store_down = "local"
release = "before_response"
fence_header = true
enforce = "25%"

[[policy]]
name = "little"
match = { attribute = "orders::update" }

[[policy]]
name = "exports"
match = { path = "/exports/{tenant}" }
key = "exports:{tenant}"
kind = "semaphore"
permits = 3
weight = 2
"#;

#[test]
fn fields_arrive_in_their_rule() {
    let file = file(ALL);
    let [all, little, exports] = file.rules() else { panic!("{file:?}") };
    assert_eq!(exports.kind, Some(Kind::Semaphore));
    assert_eq!((exports.settings.permits, exports.settings.weight), (Some(3), Some(2)));
    let answer =
        |status: Option<u16>, detail: Option<&str>, fallback: Option<&str>| AnswerOverride {
            status: status.map(|status| StatusCode::from_u16(status).unwrap()),
            detail: detail.map(Into::into),
            fallback: fallback.map(Into::into),
        };
    let draining = |detail| (Outcome::Draining, answer(None, Some(detail), Some("stale")));
    assert_eq!(
        all.settings,
        LockSettings {
            wait: Some(Duration::ZERO),
            on_busy: Some(OnBusy::Wait),
            reserve: Some(Duration::from_millis(250)),
            lease: Some(Duration::from_secs(120)),
            renew: Some(false),
            max_hold: Some(Duration::from_secs(120)),
            hold_at_least: Some(Duration::from_secs(1)),
            refuse_deadlock: Some(true),
            refuse_early: Some(true),
            max_waiters: Some(0),
            max_local_handoffs: Some(3),
            max_shared_readers: Some(4),
            hold_until: Some(HoldUntil::Body),
            body: Some(RequestBody::Stream),
            body_timeout: Some(Duration::from_secs(3)),
            on_disconnect: Some(OnDisconnect::Cancel),
            on_lost: Some(OnLost::Signal),
            on_store_down: Some(OnStoreDown::Local),
            release: Some(Release::BeforeResponse),
            fence_header: Some(true),
            enforce: Some(Enforce::Percent(25)),
            answers: [
                (Outcome::Busy, answer(Some(429), Some("Here."), Some("stale"))),
                (Outcome::Lost, answer(Some(502), None, None)),
                draining("Go."),
            ]
            .into(),
            ..LockSettings::default()
        }
    );
    assert_eq!((all.kind, all.mode), (Some(Kind::ReadWrite), Some(LockMode::Read)));
    assert_eq!(all.on_missing_key, OnMissingKey::Constant("a:none".try_into().unwrap()));
    assert_eq!(all.keys.as_ref().unwrap().sources(), "a:{id}");

    // An attribute has neither a disconnect nor a missing key, so these defaults do not apply.
    assert_eq!(
        little.settings,
        LockSettings {
            wait: Some(Duration::from_secs(1)),
            answers: [
                (Outcome::Busy, answer(Some(429), Some("Busy."), None)),
                (Outcome::Lost, answer(Some(500), None, None)),
                draining("Bye."),
            ]
            .into(),
            ..LockSettings::default()
        }
    );
    assert_eq!((little.kind, little.mode), (Some(Kind::Fair), None));
    assert_eq!(little.on_missing_key, OnMissingKey::Reject);
    assert!(little.keys.is_none());
    assert_eq!(little.matcher, Matcher::Attribute("orders::update".into()));
    assert_eq!(
        file.0.request,
        RequestBudget {
            deadline: Some(Duration::from_secs(10)),
            header: Some("x-timeout-ms".parse().unwrap()),
        }
    );
}

#[test]
fn fields_that_are_not_set_are_missing() {
    let file = file("[[policy]]\nname = \"a\"\nmatch = {}\nkey = \"a\"\n");
    let [rule] = file.rules() else { panic!("{file:?}") };
    assert_eq!(rule.settings, LockSettings::default());
    assert_eq!((rule.kind, rule.mode), (None, None));
    assert_eq!(rule.line, 2);
    assert_eq!(file.0.request, RequestBudget::default());
}

/// Tests the accepted words of each field, in separate rules.
#[test]
fn every_word_has_its_meaning() {
    let rule = |field: &str| {
        let rule = format!("[[policy]]\nname = \"a\"\nmatch = {{}}\nkey = \"a\"\n{field}\n");
        file(&rule).rules()[0].clone()
    };
    let settings = |field: &str| rule(field).settings;
    assert_eq!(settings("hold_until = 'handler'").hold_until, Some(HoldUntil::Handler));
    assert_eq!(settings("on_disconnect = 'finish'").on_disconnect, Some(OnDisconnect::Finish));
    assert_eq!(settings("on_lost = 'cancel'").on_lost, Some(OnLost::Cancel));
    assert_eq!(settings("on_store_down = 'closed'").on_store_down, Some(OnStoreDown::Closed));
    assert_eq!(settings("on_store_down = 'open'").on_store_down, Some(OnStoreDown::Open));
    assert_eq!(settings("release = 'background'").release, Some(Release::Background));
    assert_eq!(settings("enforce = 'on'").enforce, Some(Enforce::On));
    assert_eq!(settings("enforce = 'off'").enforce, Some(Enforce::Off));
    assert_eq!(settings("enforce = 'shadow'").enforce, Some(Enforce::Shadow));
    assert_eq!(settings("enforce = '0%'").enforce, Some(Enforce::Percent(0)));
    assert_eq!(settings("enforce = '100%'").enforce, Some(Enforce::Percent(100)));
    assert_eq!(rule("mode = 'write'").mode, Some(LockMode::Write));
    assert_eq!(rule("mode = 'auto'").mode, Some(LockMode::ByMethod));
    assert_eq!(rule("on_missing_key = 'skip'").on_missing_key, OnMissingKey::Skip);
    assert_eq!(rule("on_missing_key = 'reject'").on_missing_key, OnMissingKey::Reject);
    for kind in [Kind::FairReadWrite, Kind::Reentrant, Kind::NonReentrant, Kind::Fenced] {
        assert_eq!(rule(&format!("kind = '{kind}'")).kind, Some(kind));
    }
}

/// `wait` and `on_busy` of the first rule, and the wait of its acquisitions.
fn waiting(defaults: &str, rule: &str) -> (Option<Duration>, Option<OnBusy>, Option<Duration>) {
    let rule = format!("[[policy]]\nname = \"a\"\nmatch = {{}}\nkey = \"a\"\n{rule}\n");
    let file = file(&format!("[defaults]\n{defaults}\n{rule}"));
    let settings = &file.rules()[0].settings;
    let options = settings.options(&LockName::Fixed("a"));
    (settings.wait, settings.on_busy, options.wait)
}

/// In the file, and of a file over an attribute or an outer file.
#[test]
fn the_nearest_of_wait_and_on_busy_decides_both() {
    let (fail, wait, skip) = (Some(OnBusy::Fail), Some(OnBusy::Wait), Some(OnBusy::Skip));
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (outer, inner, expected) in [
        ("", "on_busy = 'fail'", (None, fail, seconds(0))),
        ("", "on_busy = 'fail'\nwait = '0s'", (seconds(0), fail, seconds(0))),
        ("wait = '5s'", "on_busy = 'fail'", (None, fail, seconds(0))),
        ("wait = '5s'", "on_busy = 'wait'", (seconds(5), wait, seconds(5))),
        ("wait = '0s'", "on_busy = 'wait'", (None, wait, None)),
        ("on_busy = 'fail'", "", (None, fail, seconds(0))),
        ("on_busy = 'fail'", "wait = '5s'", (seconds(5), None, seconds(5))),
        ("on_busy = 'fail'", "on_busy = 'wait'", (None, wait, None)),
        ("", "on_busy = 'skip'", (None, skip, seconds(0))),
        ("", "on_busy = 'skip'\nwait = '2s'", (seconds(2), skip, seconds(2))),
        ("wait = '5s'", "on_busy = 'skip'", (None, skip, seconds(0))),
        ("on_busy = 'skip'", "wait = '5s'", (seconds(5), skip, seconds(5))),
        ("on_busy = 'skip'", "on_busy = 'wait'", (None, wait, None)),
    ] {
        assert_eq!(waiting(outer, inner), expected, "{outer} {inner}");
        let alone = |fields: &str| {
            let rule = format!("[[policy]]\nname = \"a\"\nmatch = {{}}\nkey = \"a\"\n{fields}");
            file(&rule).rules()[0].settings.clone()
        };
        let both = alone(inner).or(&alone(outer));
        let options = both.options(&LockName::Fixed("a"));
        assert_eq!((both.wait, both.on_busy, options.wait), expected, "{outer} {inner}");
    }
}

#[test]
fn variables_are_replaced_in_every_text() {
    let text = r#"
[defaults]
wait = "${WAIT:-2s}"
enforce = "${EMPTY:-shadow}"
[[policy]]
name = "${STAGE}-${STAGE}"
match = { methods = ["${METHOD:-PUT}"], path = "/${STAGE}/{id}" }
keys = ["${STAGE}${EMPTY}:{id}", "cash:$${id}"]
busy_detail = "$5 and $${HOME}"
"#;
    let file = file(text);
    let [rule] = file.rules() else { panic!("{file:?}") };
    assert_eq!(&*rule.name, "test-test");
    assert_eq!(rule.settings.wait, Some(Duration::from_secs(2)));
    assert_eq!(rule.settings.enforce, Some(Enforce::Shadow));
    assert_eq!(rule.keys.as_ref().unwrap().sources(), "test:{id}, cash:${id}");
    let busy = &rule.settings.answers[&Outcome::Busy];
    assert_eq!(busy.detail.as_deref(), Some("$5 and ${HOME}"));
    let Matcher::Route(route) = &rule.matcher else { panic!("{rule:?}") };
    assert_eq!(route.methods, [Method::PUT]);
    assert_eq!(route.path.as_ref().unwrap().to_string(), "/test/{id}");
}

fn mismatch(
    found: &str,
    method: Method,
    way: Way<'_>,
    headers: &HeaderMap,
) -> Option<&'static str> {
    let rule = format!("[[policy]]\nname = \"a\"\nmatch = {{ {found} }}\nkey = \"a\"\n");
    let file = file(&rule);
    let Rule { matcher: Matcher::Route(route), .. } = &file.rules()[0] else { panic!("{file:?}") };
    route.mismatch(&method, way, host_of(&Uri::default(), headers), headers)
}

#[test]
fn a_rule_matches_only_its_own_requests() {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, "API.example.org:8080".parse().unwrap());
    headers.append("x-tier", "silver".parse().unwrap());
    headers.append("x-tier", "gold".parse().unwrap());
    let route = Way::Route("/orders/{id}");
    for (found, differs) in [
        ("", None),
        ("methods = ['GET', 'PUT']", None),
        ("methods = ['GET']", Some("method")),
        ("path = '/orders/{id}'", None),
        ("path = '/orders/{*rest}'", None),
        ("path = '/orders/{order}'", Some("path")),
        ("host = 'api.Example.org'", None),
        ("host = 'api.example.org.'", None),
        ("host = 'example.org'", Some("host")),
        ("header = { name = 'X-Tier' }", None),
        ("header = { name = 'x-tier', value = 'gold' }", None),
        ("header = { name = 'x-tier', value = 'Gold' }", Some("header")),
        ("header = [{ name = 'x-tier', value = 'gold' }, { name = 'x-other' }]", Some("header")),
    ] {
        assert_eq!(mismatch(found, Method::PUT, route, &headers), differs, "{found}");
    }
    let path = "path = '/orders/{id}'";
    assert_eq!(mismatch(path, Method::PUT, Way::Path("/orders/7"), &headers), None);
    assert_eq!(mismatch(path, Method::PUT, Way::Path("/orders"), &headers), Some("path"));
    assert_eq!(mismatch("", Method::PUT, Way::Path("/orders"), &headers), None);
    let nobody = HeaderMap::new();
    assert_eq!(mismatch("host = 'a'", Method::PUT, route, &nobody), Some("host"));
}

/// As RFC 9110 and DNS compare them: another spelling would pass without a lock.
#[test]
fn one_host_in_all_its_spellings() {
    for (rule, sent) in [
        ("api.example.org", "api.example.org."),
        ("api.example.org", "API.Example.ORG.:443"),
        ("api.example.org", "%61pi.example.org"),
        ("[2001:db8::1]", "[2001:0DB8:0:0:0:0:0:1]:80"),
        ("[2001:DB8:0::1]", "[2001:db8::1]"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, sent.parse().unwrap());
        let found = format!("host = '{rule}'");
        assert_eq!(mismatch(&found, Method::PUT, Way::Route("/"), &headers), None, "{rule} {sent}");
    }
    let mut headers = HeaderMap::new();
    for sent in
        ["api.example.org..", "xapi.example.org", "api.example.org.evil", "%zz", "", "[", "[]:1"]
    {
        headers.insert(HOST, sent.parse().unwrap());
        let found = "host = 'api.example.org'";
        assert_eq!(mismatch(found, Method::PUT, Way::Route("/"), &headers), Some("host"), "{sent}");
    }
}

#[test]
fn the_host_is_the_uris_or_the_headers() {
    let mut headers = HeaderMap::new();
    for (host, expected) in
        [("a.b:80", "a.b"), ("a.b", "a.b"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]")]
    {
        headers.insert(HOST, host.parse().unwrap());
        assert_eq!(host_of(&Uri::default(), &headers), Some(expected));
    }
    assert_eq!(host_of(&Uri::from_static("http://c.d:1/x"), &headers), Some("c.d"));
    assert_eq!(host_of(&Uri::default(), &HeaderMap::new()), None);
}

#[test]
fn the_environment_counts_more_than_the_file() {
    let file = file(
        "[defaults]\nenforce = '${EMPTY:-50%}'\n[[policy]]\nname = 'a'\nmatch = { path = '/a' }\nkey = 'a'\n\
         [[policy]]\nname = 'b'\nmatch = { path = '/b' }\nkey = 'b'\nenforce = 'shadow'\n",
    );
    let only_b = |name: &str, configured| if name == "b" { Enforce::Off } else { configured };
    let enforced = |path: &str, in_force| {
        let reported = explain(&file.0, &Method::GET, path, &HeaderMap::new(), in_force).to_json();
        let rows = reported["rule"]["values"].as_array().unwrap();
        let row = rows.iter().find(|row| row["field"] == "enforce").unwrap();
        format!("{} {}", row["value"].as_str().unwrap(), row["origin"].as_str().unwrap())
    };
    assert_eq!(enforced("/a", only_b), "50% locks.toml:3 (defaults)");
    assert_eq!(enforced("/b", |_, configured| configured), "shadow locks.toml:12 (policy)");
    assert_eq!(enforced("/b", only_b), "off environment (LOCK_TOWER_ENFORCE)");
}

/// A text that is not a policy file at all: both the log and the time stay bounded.
#[test]
fn locks_of_several_kinds_are_explained_one_by_one() {
    let file = file(
        r#"
[defaults]
kind = "fair"
[[policy]]
name = "export"
match = { path = "/{tenant}/{id}" }
locks = [
    { key = "exports", kind = "semaphore", permits = 8 },
    { key = "exports:{tenant:lower}", kind = "semaphore", permits = 3, weight = 2 },
    { key = "report:{id:u64}" },
]
"#,
    );
    let explained = file.explain(&Method::GET, "/Acme/007", &HeaderMap::new()).to_json();
    let rule = &explained["rule"];
    let keys = [
        "exports (semaphore: 1 of 8 permits)",
        "exports:acme (semaphore: 2 of 3 permits)",
        "report:7 (read_write: read)",
    ];
    assert_eq!(rule["keys"], serde_json::json!(keys));
    // Of the rule and the defaults nothing else says which locks they are.
    let fields = rule["values"].as_array().expect("a list").iter().map(|row| &row["field"]);
    for of_each in OF_EACH_LOCK {
        assert!(fields.clone().all(|field| *field != of_each), "{of_each}");
    }
}

#[test]
fn of_very_many_errors_the_first_are_shown() {
    let names: Vec<_> = (0..20_000).map(|n| format!("'x{n}'")).collect();
    let text = format!("version = 1\nallow_change = [{}]", names.join(", "));
    let errors = PolicyFile::parse_with("locks.toml", &text, |_| None).unwrap_err();
    let reported: Vec<_> = errors.iter().collect();
    assert_eq!(reported.len(), 101);
    assert_eq!(reported[0].message, "the file has no rule `x0`");
    assert_eq!(reported[100].message, "19900 more errors from here on are not shown");
    assert_eq!((reported[100].line, reported[100].column), (2, 17 + "'x00', ".len() * 100 - 10));
}

#[test]
fn what_is_wrong_in_the_defaults_is_one_error_for_all_rules() {
    let rule = |n| format!("[[policy]]\nname = 'r{n}'\nmatch = {{ path = '/{n}' }}\nkey = 'k'\n");
    let rules: String = (0..150).map(rule).collect();
    let text = format!("version = 1\n[defaults]\nmode = 'read'\nkind = 'fair'\n{rules}");
    let errors = PolicyFile::parse_with("locks.toml", &text, |_| None).unwrap_err();
    assert_eq!(errors.iter().count(), 1, "{errors}");
}

#[test]
fn a_host_is_what_stands_on_the_wire() {
    let rule = |host: &str| {
        let text = format!(
            "version = 1\n[[policy]]\nname = 'a'\nmatch = {{ host = '{host}' }}\nkey = 'k'\n"
        );
        PolicyFile::parse_with("locks.toml", &text, |_| None).map_err(|errors| errors.to_string())
    };
    rule("xn--bcher-kva.example").unwrap();
    rule("[::1]").unwrap();
    let why = rule("b\u{fc}cher.example").unwrap_err();
    assert!(why.contains("write it as clients send it, in ASCII"), "{why}");
}
