//! `lockctl watch`, on a real terminal and in a pipe.

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::{LIMIT, Process, ProcessBuilder, RedisServer, Terminal, workspace_binary};
use serde_json::Value;

use crate::lockctl::program::{run, run_at, service, until};

const LONG: Duration = Duration::from_secs(3_600);

/// Two services: one holds orders, the other waits for one of them.
struct Scene {
    redis: RedisServer,
    orders: LockClient,
    billing: LockClient,
}

impl Scene {
    async fn new() -> Self {
        let redis = RedisServer::start().await;
        let orders = service(&redis.url(), "orders", "orders-7f9c").await;
        let billing = service(&redis.url(), "billing", "billing-1").await;
        Self { redis, orders, billing }
    }

    async fn terminal(&self, arguments: &str) -> Terminal {
        self.terminal_of((160, 20), arguments).await
    }

    async fn terminal_of(&self, size: (u32, u32), arguments: &str) -> Terminal {
        let program = workspace_binary("lockctl").await;
        let url = self.redis.url();
        let environment = [("LOCK_URL", url.as_str()), ("TERM", "xterm-256color")];
        // The exit code is shown where the screen was, and the shell waits for the test to see it.
        let command = format!(
            "{} watch --every 1 {arguments}; echo \"exit code $?\"; exec cat",
            program.display()
        );
        Terminal::start(size, &environment, &command)
    }
}

/// The keys of the locks on the screen, from top to bottom.
fn keys(screen: &str) -> Vec<&str> {
    let lines = screen.lines().skip(3);
    let keys = lines.filter_map(|line| line.split_whitespace().next());
    keys.filter(|key| key.contains(':') && !key.ends_with(':')).collect()
}

#[tokio::test]
async fn locks_appear_and_go_on_a_terminal() {
    let scene = Scene::new().await;
    let terminal = scene.terminal("order:").await;
    terminal.until("an empty table", |screen| screen.contains("0 of 0 locks")).await;
    let held = scene.orders.write("order:42").acquire().await.unwrap();
    let _other = scene.orders.write("report").acquire().await.unwrap();
    let shown = |screen: &str| {
        keys(screen) == ["order:42"]
            && screen.contains("orders orders-7f9c")
            && screen.contains("read_write")
    };
    terminal.until("the lock", shown).await;
    let _waiter = tokio::spawn(scene.billing.write("order:42").wait(LONG).acquire());
    terminal
        .until("its waiter", |screen| {
            screen.lines().filter(|line| line.starts_with("order:42")).any(|line| {
                // The seconds left, and the number of waiters.
                line.split_whitespace().rev().take(2).eq(["1", "s"])
            })
        })
        .await;
    held.release().await.unwrap();
    terminal.until("the next holder", |screen| screen.contains("billing billing-1")).await;
    terminal.press(&["q"]);
    terminal.until("its end", |screen| screen.contains("exit code 0")).await;
    assert!(!terminal.screen().contains("WORKS ON"), "the screen of before is back");
}

#[tokio::test]
async fn keys_sort_filter_and_show_details() {
    let scene = Scene::new().await;
    let _held = (
        scene.orders.fair("order:1").acquire().await.unwrap(),
        scene.orders.fair("order:2").acquire().await.unwrap(),
        scene.billing.fair("invoice:3").acquire().await.unwrap(),
    );
    let _waiter = tokio::spawn(scene.billing.fair("order:2").wait(LONG).acquire());
    until(&scene.orders, "order:2", |seen| seen.waiters.len() == 1).await;
    let terminal = scene.terminal("").await;
    let by_key = ["invoice:3", "order:1", "order:2"];
    terminal.until("the locks by key", |screen| keys(screen) == by_key).await;
    terminal.press(&["r"]);
    let reversed = ["order:2", "order:1", "invoice:3"];
    terminal.until("the reverse", |screen| keys(screen) == reversed).await;
    terminal.press(&["r", "s", "s"]);
    let by_waiters = ["order:2", "invoice:3", "order:1"];
    let sorted = |screen: &str| keys(screen) == by_waiters && screen.contains("by waiters");
    terminal.until("the most waiters first", sorted).await;

    terminal.press(&["/", "b", "i", "l", "x", "BSpace", "Enter"]);
    let filtered = |screen: &str| keys(screen) == ["invoice:3"] && screen.contains("1 of 3 locks");
    terminal.until("those of billing", filtered).await;
    terminal.press(&["/", "Escape"]);
    terminal.until("all again", |screen| keys(screen) == by_waiters).await;

    terminal.press(&["Down", "Enter"]);
    let details = |screen: &str| {
        screen.contains("order:2: fair, held to write")
            && screen.contains("waiters, in order: 1")
            && screen.contains("billing billing-1  write")
    };
    terminal.until("its holders and waiters", details).await;
    terminal.press(&["Escape"]);
    terminal.until("the table again", |screen| keys(screen) == by_waiters).await;
    terminal.press(&["C-c"]);
    terminal.until("its end", |screen| screen.contains("exit code 0")).await;
}

/// At night an operator may have a narrow window: the key is what counts.
#[tokio::test]
async fn keys_are_readable_on_narrow_terminals() {
    let scene = Scene::new().await;
    let long = format!("import:{}:2026-11", "tenant-".repeat(6));
    let keys = ["invoice:2026-11:1000000042", "order:42", &long];
    let _held = [
        scene.orders.write(keys[0]).acquire().await.unwrap(),
        scene.orders.write(keys[1]).acquire().await.unwrap(),
        scene.orders.write(keys[2]).acquire().await.unwrap(),
    ];
    for (columns, headers, shortened) in [
        (60, "KEY HOLDER WAITERS", "import:tenant"),
        (80, "KEY HOLDER FOR WAITERS LONGEST", "import:tenant"),
        (120, "KEY MODE HOLDER FOR LEFT WAITERS LONGEST WORKS ON", "import:tenant"),
        (200, "KEY KIND MODE HOLDER FOR LEFT WAITERS LONGEST WORKS ON", &*long),
    ] {
        let terminal = scene.terminal_of((columns, 12), "").await;
        terminal.until("the locks", |screen| screen.contains("3 of 3 locks")).await;
        let screen = terminal.screen();
        let line = |number: usize| screen.lines().nth(number).unwrap_or_default();
        let words: Vec<_> = line(2).split_whitespace().collect();
        assert_eq!(words.join(" "), headers, "{columns} columns:\n{screen}");
        let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        // Sorted by key: the long one is in the middle.
        let [middle, above, below] = [first(line(3)), first(line(4)), first(line(5))];
        assert!(middle.starts_with(shortened) && middle.ends_with(":2026-11"), "{screen}");
        assert_eq!((above.as_str(), below.as_str()), (keys[0], keys[1]), "{screen}");
        assert!(line(11).starts_with("q: quit   Enter: details"), "{screen}");
        assert!(line(4).contains("orders orders-"), "{screen}");
    }
}

#[tokio::test]
async fn a_store_that_falls_silent_is_named_and_keys_still_work() {
    let scene = Scene::new().await;
    let _held = scene.orders.write("order:1").acquire().await.unwrap();
    let terminal = scene.terminal("").await;
    terminal.until("the lock", |screen| keys(screen) == ["order:1"]).await;
    scene.redis.pause();
    terminal.press(&["s"]);
    terminal.until("another order at once", |screen| screen.contains("by age")).await;
    terminal.until("the reason", |screen| screen.contains("not read: ")).await;
    assert_eq!(keys(&terminal.screen()), ["order:1"], "as it was last read");
    scene.redis.resume();
    terminal.until("that it is read again", |screen| !screen.contains("not read: ")).await;
}

#[tokio::test]
async fn what_a_key_contains_does_not_control_the_terminal() {
    let scene = Scene::new().await;
    // Written by another program: a key of ours has no control characters.
    let cli = scene.redis.cli().await;
    let _: String = cli.query(&["SET", "lock:order:\u{1b}[31mred", "x", "PX", "100000"]).await;
    let _held = scene.orders.write("order:<&\u{202e}x").acquire().await.unwrap();
    let terminal = scene.terminal("").await;
    terminal.until("the lock", |screen| screen.contains("order:<&")).await;
    assert!(!terminal.screen().contains('\u{1b}'));
}

#[tokio::test]
async fn it_prints_changes_where_there_is_no_terminal() {
    let scene = Scene::new().await;
    let _held = scene.orders.write("order:42").acquire().await.unwrap();
    let watch = async |arguments: &[&str]| {
        let program = Process::builder(workspace_binary("lockctl").await);
        let program = program.env("LOCK_URL", scene.redis.url()).arg("watch").arg("order:");
        arguments.iter().fold(program, ProcessBuilder::arg).arg("--every").arg("1").start()
    };
    let (text, json) = (watch(&[]).await, watch(&["--json"]).await);
    let document = async |part: &str| {
        let line = json.line(part, LIMIT).await;
        serde_json::from_str::<Value>(&line).unwrap()
    };
    text.line("order:42: read_write, write, orders orders-7f9c", LIMIT).await;
    let held = document("order:42").await;
    assert_eq!((&held["event"], &held["mode"]), (&"held".into(), &"write".into()));
    assert_eq!(held["holders"][0]["instance"], "orders-7f9c");
    let other = scene.orders.read("order:7").acquire().await.unwrap();
    text.line("order:7: read_write, read, orders orders-7f9c", LIMIT).await;
    assert_eq!(document("order:7").await["event"], "held");
    let _waiter = tokio::spawn(scene.billing.write("order:42").wait(LONG).acquire());
    text.line("order:42: read_write, write, orders orders-7f9c, 1 waiting", LIMIT).await;
    assert_eq!(document("changed").await["waiters"].as_array().unwrap().len(), 1);
    other.release().await.unwrap();
    text.line("order:7: free", LIMIT).await;
    let free = serde_json::json!({ "event": "free", "key": "order:7" });
    assert_eq!(document("free\"").await, free);
    for process in [&text, &json] {
        process.interrupt();
        assert_eq!(process.exited(LIMIT).await.code(), Some(0), "{}", process.output());
    }
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_drawn() {
    for arguments in [&["watch", "--every", "0"][..], &["watch", "--limit", "0"], &["watch"]] {
        let refused = run(arguments).await;
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
    }
    let unreachable = run_at("redis://127.0.0.1:1", &["watch"]).await;
    assert_eq!((unreachable.code, unreachable.out.as_str()), (4, ""), "{unreachable:?}");
    let unreachable = run_at("redis://127.0.0.1:1", &["watch", "--json"]).await;
    assert_eq!(unreachable.json()["error"]["kind"], "store");
}
