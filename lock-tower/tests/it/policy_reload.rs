//! A policy file that is changed while it is at work.

use std::{fs, os::unix::fs::symlink, path::PathBuf, time::Duration};

use crate::common::{call, logs::Logs, metrics::Metrics};
use axum::{Router, extract::Path, routing::put};
use lock_tower::{
    distributed_lock,
    policies::{Policies, PoliciesError},
    policy_file::PolicyFile,
    testing::TestLocks,
};
use tempfile::TempDir;
use tokio::runtime::Handle;

const WORK: Duration = Duration::from_millis(200);

#[distributed_lock(key = "line:{id}", name = "line", wait = "0s")]
async fn line(Path(id): Path<u64>) -> String {
    tokio::time::sleep(WORK).await;
    id.to_string()
}

struct World {
    dir: TempDir,
    path: PathBuf,
    locks: TestLocks,
    policies: Policies,
    app: Router,
}

fn order(fields: &str) -> String {
    format!(
        "version = 1\n[[policy]]\nname = \"order\"\nmatch = {{ path = \"/orders/{{id}}\" }}\n\
         key = \"order:{{id}}\"\n{fields}\n"
    )
}

fn world(text: &str) -> World {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("locks.toml");
    fs::write(&path, text).unwrap();
    let locks = TestLocks::new();
    let policies = Policies::builder(locks.client()).read(&path).unwrap();
    let work = async || {
        tokio::time::sleep(WORK).await;
        "done"
    };
    let app = Router::new().route("/orders/{id}", put(work)).route("/lines/{id}", put(line));
    let app = app.route_layer(policies.layer());
    World { dir, path, locks, policies, app }
}

impl World {
    fn reload(&self, text: &str) -> Result<u64, PoliciesError> {
        fs::write(&self.path, text).unwrap();
        self.policies.reload().map(|version| version.number)
    }

    /// Waits for the task that watches to have done what is awaited.
    async fn sees(&self, what: impl Fn() -> bool) {
        for _ in 0..100 {
            if what() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("not seen: {:?}", self.policies);
    }

    async fn sees_version(&self, number: u64) {
        self.sees(|| self.policies.version().number == number).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_new_version_applies_and_is_logged() {
    let (logs, metrics) = (Logs::collect(), Metrics::collect());
    let world = world(&order("wait = \"0s\""));
    let first = world.policies.version();
    assert_eq!(world.reload(&order("wait = \"0s\"\nbusy_status = 409")).unwrap(), 2);

    let second = world.policies.version();
    assert_eq!((first.number, second.number), (1, 2));
    assert_ne!(first.id, second.id);
    let _held = world.locks.hold("order:7").await;
    call(&world.app, "PUT", "/orders/7").await.assert_problem(409, "lock-busy");
    let reported = format!("policies in force version=2 id={} rules=1", second.id);
    assert!(logs.text().contains(&reported), "{}", logs.text());
    let applied = metrics.value(r#"lock_policy_reloads_total{result="applied"}"#);
    assert_eq!((metrics.value("lock_policy_version{}"), applied), (2.0, 2.0));
}

/// A rule that locks nothing looks like any other in the number of rules.
#[test]
fn the_log_names_the_rules_that_are_not_enforced() {
    let logs = Logs::collect();
    let rule = |name: &str, enforce: &str| {
        format!(
            "[[policy]]\nname = \"{name}\"\nmatch = {{ path = \"/{name}\" }}\nkey = \"{name}\"\n\
             enforce = \"{enforce}\"\n"
        )
    };
    let rules = [rule("a", "on"), rule("b", "shadow"), rule("c", "1%")].concat();
    let world = world(&format!("version = 1\n{rules}"));
    let reported = "rules=3 not_enforced=1 not_enforced_names=\"b (shadow)\"";
    assert!(logs.text().contains(reported), "{}", logs.text());
    let rules = [rule("a", "off"), rule("b", "0%"), rule("c", "1%")].concat();
    world.reload(&format!("version = 1\n{rules}")).unwrap();
    let reported = "rules=3 not_enforced=2 not_enforced_names=\"a (off), b (0%)\"";
    assert!(logs.text().contains(reported), "{}", logs.text());
    world.reload(&format!("version = 1\n{}", rule("c", "1%"))).unwrap();
    let lines = logs.lines();
    let last = lines.iter().rfind(|line| line.contains("policies in force")).unwrap();
    assert!(last.ends_with("rules=1 not_enforced=0"), "{last}");
}

#[test]
fn what_has_not_changed_is_no_new_version() {
    let logs = Logs::collect();
    let world = world(&order(""));
    let id = world.policies.version().id;
    assert_eq!(world.reload(&order("")).unwrap(), 1);
    assert_eq!(world.policies.version().id, id);
    assert_eq!(logs.text().matches("policies in force").count(), 1);
}

/// Not refused: it is how a lock is taken away. But neither is it silent: a file that was cut off
/// looks the same.
#[test]
fn a_removed_rule_is_logged() {
    let world = world(&order(""));
    let logs = Logs::collect();
    world.reload(&order("wait = \"5s\"")).unwrap();
    assert!(!logs.text().contains("gone"), "{}", logs.text());
    world.reload("version = 1").unwrap();
    let reported = "rules are gone from the policy file";
    let line = logs.lines().into_iter().find(|line| line.contains(reported)).unwrap();
    assert!(line.contains("WARN") && line.ends_with("still do: order"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_what_was_in_force() {
    let (logs, metrics) = (Logs::collect(), Metrics::collect());
    let world = world(&order("wait = \"0s\""));
    for (wrong, reported) in [
        (order("wiat = \"5s\""), "locks.toml:6:1: error: [[policy]] has no field `wiat`"),
        ("version = ".to_owned(), "locks.toml:1:"),
        (order("busy_fallback = \"unknown\""), "`unknown`, which is not registered"),
    ] {
        world.reload(&wrong).unwrap_err();
        assert!(logs.text().contains(reported), "{reported}: {}", logs.text());
    }
    fs::remove_file(&world.path).unwrap();
    world.policies.reload().unwrap_err();

    assert_eq!(world.policies.version().number, 1);
    assert_eq!(metrics.value(r#"lock_policy_reloads_total{result="refused"}"#), 4.0);
    let _held = world.locks.hold("order:7").await;
    call(&world.app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(world.reload(&order("")).unwrap(), 2);
}

#[test]
fn what_was_parsed_has_nothing_to_reload() {
    let policies = Policies::builder(TestLocks::new().client()).parse("x", "version = 1").unwrap();
    assert!(matches!(policies.reload(), Err(PoliciesError::NoFile)));
}

fn rules(order: &str, line: &str, attribute: &str) -> String {
    format!(
        "[[policy]]\nname = \"order\"\nmatch = {{ path = \"/o/{{id}}\" }}\n{order}\n\
         [[policy]]\nname = \"line\"\nmatch = {{ path = \"/l/{{id}}\" }}\n{line}\n\
         [[policy]]\nname = \"attribute\"\nmatch = {{ attribute = \"line\" }}\n{attribute}\n"
    )
}

#[test]
fn warnings_are_logged_and_a_placeholder_may_be_called_text() {
    let logs = Logs::collect();
    let world = world(&order(""));
    let warning = "locks.toml:5:15: warning: `{id}` is compared as text";
    assert_eq!(logs.text().matches(warning).count(), 1, "{}", logs.text());
    let typed = order("").replace("{id}\"\n", "{id:text}\"\n");
    assert_eq!(world.reload(&typed).unwrap(), 2);
    assert_eq!(logs.text().matches("warning").count(), 1, "{}", logs.text());
    let other = typed.replace("{id:text}", "{id:u64}");
    let why = world.reload(&other).unwrap_err();
    assert!(matches!(why, PoliciesError::ExclusionChanged(_)), "{why}");
}

#[test]
fn rules_that_change_locking_are_refused_unless_named() {
    let before = rules("key = \"a:{id}\"", "key = \"b:{id}\"\nmode = \"write\"", "");
    let world = world(&format!("version = 1\n{before}"));
    let otherwise = rules(
        "key = \"c:{id}\"\nkind = \"fair\"",
        "key = \"b:{id}\"\nmode = \"auto\"",
        "kind = \"read_write\"",
    );
    let PoliciesError::ExclusionChanged(changes) =
        world.reload(&format!("version = 1\n{otherwise}")).unwrap_err()
    else {
        panic!("refused for another reason");
    };
    let reported: Vec<_> =
        changes.iter().map(|change| format!("{}: {}", change.policy, change.what)).collect();
    assert_eq!(reported, ["order: key, kind", "line: mode", "attribute: kind"]);

    let allow = |names: &str| format!("version = 1\nallow_change = [{names}]\n{otherwise}");
    let some = world.reload(&allow("\"order\", \"line\"")).unwrap_err();
    assert!(some.to_string().contains("allow_change = [\"attribute\"]"), "{some}");
    assert_eq!(world.policies.version().number, 1);
    assert_eq!(world.reload(&allow("\"order\", \"line\", \"attribute\"")).unwrap(), 2);
    // The same in other words is the same, and a rule may come and go.
    let same = rules("key = \"c:{id}\"\nkind = \"fair\"\nmode = \"auto\"", "key = \"b:{id}\"", "");
    let gone = same.split("[[policy]]\nname = \"attribute\"").next().unwrap();
    assert_eq!(world.reload(&format!("version = 1\n{gone}")).unwrap(), 3);
}

#[test]
fn locks_of_several_kinds_are_compared_one_by_one() {
    let file = |locks: &str| {
        format!(
            "version = 1\n[[policy]]\nname = \"export\"\n\
             match = {{ path = \"/orders/{{id}}\" }}\nlocks = [{locks}]\n"
        )
    };
    let two = |permits: u32, other: &str| {
        format!(
            "{{ key = \"exports\", kind = \"semaphore\", permits = {permits} }}, \
             {{ key = \"report\"{other} }}"
        )
    };
    let world = world(&file(&two(8, "")));
    // Holders count each other under another number too.
    assert_eq!(world.reload(&file(&two(9, ""))).unwrap(), 2);
    for (locks, what) in [
        (two(9, ", kind = \"fair\""), "export` (kind)"),
        (two(9, ", mode = \"read\""), "export` (mode)"),
        ("{ key = \"exports\", kind = \"semaphore\", permits = 9 }".to_owned(), "export` (key)"),
    ] {
        let refused = world.reload(&file(&locks)).unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
}

#[test]
fn another_name_for_the_same_requests_is_no_way_round() {
    let rule = |name: &str, key: &str| {
        format!(
            "version = 1\n[[policy]]\nname = \"{name}\"\nmatch = {{ path = \"/orders/{{id}}\" }}\n\
             key = \"{key}:{{id}}\"\n"
        )
    };
    let world = world(&rule("order", "a"));
    assert_eq!(world.reload(&rule("renamed", "a")).unwrap(), 2, "the same lock");
    let refused = world.reload(&rule("other", "b")).unwrap_err().to_string();
    assert!(refused.contains("`other` (key; before: `renamed`)"), "{refused}");
    let allowed = rule("other", "b").replacen('1', "1\nallow_change = [\"other\"]", 1);
    assert_eq!(world.reload(&allowed).unwrap(), 3);
}

/// The rule of the old name is another one's successor, and the conditions may come in another order.
#[test]
fn neither_is_a_rule_that_moved_nor_another_order_of_its_conditions() {
    let rule = |name: &str, conditions: &str, key: &str| {
        format!(
            "[[policy]]\nname = \"{name}\"\nmatch = {{ {conditions} }}\nkey = \"{key}:{{id:u64}}\"\n"
        )
    };
    let x = "path = \"/x/{id}\", methods = [\"PUT\", \"PATCH\"], \
             header = [{ name = \"a\" }, { name = \"b\", value = \"c\" }]";
    let same = "header = [{ name = \"b\", value = \"c\" }, { name = \"a\" }], \
                methods = [\"PATCH\", \"PUT\"], path = \"/x/{id}\"";
    let world = world(&format!("version = 1\n{}", rule("a", x, "order")));
    let moved = [rule("a", "path = \"/y/{id}\"", "order"), rule("b", same, "other")].concat();
    for after in [moved, rule("b", same, "other")] {
        let refused = world.reload(&format!("version = 1\n{after}")).unwrap_err().to_string();
        assert!(refused.contains("`b` (key; before: `a`)"), "{refused}");
    }
    // Other requests are no reason.
    let fewer = same.replace("\"PATCH\", ", "");
    assert_eq!(world.reload(&format!("version = 1\n{}", rule("b", &fewer, "other"))).unwrap(), 2);
}

#[test]
fn what_becomes_of_a_missing_key_is_part_of_the_key() {
    let world = world(&order("on_missing_key = { constant = \"none\" }"));
    let refused = world.reload(&order("on_missing_key = { constant = \"other\" }")).unwrap_err();
    assert!(refused.to_string().contains("`order` (key)"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn requests_keep_what_they_began_with() {
    let world = world(&order("wait = \"1m\""));
    let held = world.locks.hold("order:7").await;
    let app = world.app.clone();
    let patient = tokio::spawn(async move { call(&app, "PUT", "/orders/7").await });
    world.locks.pass(Duration::from_secs(5)).await;
    world.reload(&order("wait = \"0s\"\nbusy_status = 409")).unwrap();

    call(&world.app, "PUT", "/orders/7").await.assert_problem(409, "lock-busy");
    world.locks.pass(Duration::from_secs(50)).await;
    drop(held);
    assert_eq!(patient.await.unwrap().text, "done");

    // Under a different key, the earlier request still runs.
    let app = world.app.clone();
    let at_work = tokio::spawn(async move { call(&app, "PUT", "/orders/7").await });
    world.locks.pass(WORK / 2).await;
    let other = order("").replace("order:{id}", "other:{id}");
    world.reload(&other.replace("version = 1", "version = 1\nallow_change = ['order']")).unwrap();
    let replica = world.locks.another_replica();
    assert!(replica.write("order:7").try_acquire().await.is_err());
    assert_eq!(at_work.await.unwrap().text, "done");
    drop(world.locks.hold("order:7").await);
    let _held = world.locks.hold("other:7").await;
    assert_eq!(call(&world.app, "PUT", "/orders/7").await.status, 423);
}

/// The observed holds of a rule set the `Retry-After` of refused requests, after a reload too.
#[tokio::test(start_paused = true)]
async fn hold_times_are_carried_over() {
    let attribute = "[[policy]]\nname = \"of-line\"\nmatch = { attribute = \"line\" }\n";
    let file = |wait: &str| order(wait) + attribute;
    let world = world(&file("wait = \"0s\""));
    for path in ["/orders/7", "/lines/7"] {
        assert_eq!(call(&world.app, "PUT", path).await.status, 200);
    }
    world.reload(&file("wait = \"1ms\"")).unwrap();
    let _held = [world.locks.hold("order:7").await, world.locks.hold("line:7").await];
    for path in ["/orders/7", "/lines/7"] {
        let problem = call(&world.app, "PUT", path).await.assert_problem(423, "lock-busy");
        let ms = problem["retry_after_ms"].as_u64().unwrap();
        assert!((150..=260).contains(&ms), "as long as the hold before, jittered: {ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn watching_sees_every_way_a_file_is_changed() {
    let logs = Logs::collect_of_other_threads();
    let world = world(&order(""));
    // Changed after it was read, and before it was watched.
    fs::write(&world.path, order("wait = \"2s\"")).unwrap();
    world.policies.watch();
    world.sees_version(2).await;

    fs::write(&world.path, order("wait = \"3s\"")).unwrap();
    world.sees_version(3).await;

    // Deleted, and made again.
    fs::remove_file(&world.path).unwrap();
    let error = |what: &str| format!("{}{what}", world.path.display());
    world.sees(|| logs.text().contains(&error(": error: the file cannot be read"))).await;
    assert_eq!(world.policies.version().number, 3);
    fs::write(&world.path, order("wait = \"4s\"")).unwrap();
    world.sees_version(4).await;

    // Replaced by another.
    let other = world.dir.path().join("other.toml");
    fs::write(&other, order("wait = \"5s\"")).unwrap();
    fs::rename(&other, &world.path).unwrap();
    world.sees_version(5).await;

    // Half written, then whole.
    let whole = order("wait = \"6s\"");
    fs::write(&world.path, &whole[..whole.len() - 3]).unwrap();
    world.sees(|| logs.text().contains(&error(":6:"))).await;
    world.locks.pass(Duration::from_secs(60)).await;
    let errors = logs.text().matches(&format!("file={}", world.path.display())).count();
    assert_eq!(errors, 2, "once for each content: {}", logs.text());
    assert_eq!(world.policies.version().number, 5);
    fs::write(&world.path, whole).unwrap();
    world.sees_version(6).await;
}

/// As Kubernetes mounts it: the file is a link into a link that is swapped.
#[tokio::test(start_paused = true)]
async fn watching_follows_links_that_are_swapped() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for (version, wait) in [("v1", "1s"), ("v2", "2s")] {
        fs::create_dir(at(version)).unwrap();
        let text = order(&format!("wait = \"{wait}\""));
        fs::write(at(version).join("locks.toml"), text).unwrap();
    }
    symlink("v1", at("data")).unwrap();
    symlink("data/locks.toml", at("locks.toml")).unwrap();
    let World { locks, app, .. } = world("version = 1");
    let policies = Policies::builder(locks.client()).read(at("locks.toml")).unwrap();
    let world = World { path: at("locks.toml"), dir, locks, policies, app };
    world.policies.watch();

    symlink("v2", world.dir.path().join("swapped")).unwrap();
    fs::rename(world.dir.path().join("swapped"), world.dir.path().join("data")).unwrap();
    world.sees_version(2).await;
}

#[tokio::test(start_paused = true)]
async fn watching_ends_with_the_last_clone() {
    for is_deleted in [false, true] {
        // Its client stays, and with it what that has running.
        let World { dir, path, policies, app, locks } = world(&order(""));
        drop(app);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = Handle::current().metrics().num_alive_tasks();
        policies.watch();
        let clone = policies.clone();
        drop(policies);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), before + 1);
        if is_deleted {
            fs::remove_file(path).unwrap();
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        drop(clone);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
        drop((dir, locks));
    }
}

#[tokio::test(start_paused = true)]
async fn watching_leaves_a_file_alone_that_is_still_being_written() {
    let world = world(&order("wait = \"0s\""));
    world.policies.watch();
    let whole = order("wait = \"5s\"");
    let id = PolicyFile::parse("locks.toml", &whole).unwrap().version().to_owned();
    tokio::time::sleep(Duration::from_millis(500)).await;
    fs::write(&world.path, "version = 1\n").unwrap();
    // The watcher has looked once by now.
    tokio::time::sleep(Duration::from_millis(550)).await;
    fs::write(&world.path, &whole).unwrap();
    while world.policies.version().number == 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!((world.policies.version().number, world.policies.version().id), (2, id));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_matches_no_known_route_is_warned_of_and_measured() {
    let (logs, metrics) = (Logs::collect(), Metrics::collect());
    let world = world(&order("wait = \"0s\""));
    assert_eq!(call(&world.app, "PUT", "/orders/7").await.status, 200);
    assert_eq!(metrics.value(r#"lock_policy_matched{policy="order"}"#), 1.0);
    let warned = || logs.text().contains("rules match none of the 1 routes");
    world.reload(&order("wait = \"1s\"")).unwrap();
    assert!(!warned(), "{}", logs.text());
    world.reload(&order("wait = \"1s\"").replace("/orders/{id}", "/order/{id}")).unwrap();
    assert!(warned() && logs.text().contains("have had so far: order."), "{}", logs.text());
}

/// An alarm that was set off by the refusal ends.
#[test]
fn a_file_that_is_good_again_is_logged() {
    let world = world(&order(""));
    let logs = Logs::collect();
    world.reload("version = ").unwrap_err();
    assert_eq!(world.reload(&order("")).unwrap(), 1);
    assert_eq!(world.reload(&order("")).unwrap(), 1);
    let reported = "the policy file has no errors any more";
    assert_eq!(logs.text().matches(reported).count(), 1, "{}", logs.text());
}
