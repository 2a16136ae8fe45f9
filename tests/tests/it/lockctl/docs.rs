//! docs/lockctl.md shows what the program prints.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use lock_tests::{LIMIT, RedisServer, bounded, workspace_binary};

use crate::lockctl::program::{Run, service, until};

const DOCS: &str = include_str!("../../../../docs/lockctl.md");

/// The blocks in this language, in order.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let open = format!("```{language}\n");
    let after: Vec<_> = DOCS.split(&open).skip(1).collect();
    after.into_iter().map(|rest| rest.split("\n```").next().unwrap())
}

/// Without what differs from run to run: owners, tokens, seconds, the server's port, and the width
/// of columns.
fn masked(text: &str) -> String {
    let seconds = |word: &str, next: Option<&&str>| {
        let is_unit = next.is_some_and(|next| next.trim_end_matches(',') == "s");
        is_unit && word.parse::<f64>().is_ok()
    };
    let word = |word: &str| match word {
        word if word.len() > 36 && word.split('-').count() == 5 => "OWNER".to_owned(),
        word if word.len() > 12 && word.parse::<u64>().is_ok() => "TOKEN".to_owned(),
        word if word.starts_with("redis://127.0.0.1:") => "URL".to_owned(),
        word => word.to_owned(),
    };
    let line = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let masked =
            words.iter().enumerate().map(|(at, one)| match seconds(one, words.get(at + 1)) {
                true => "SECONDS".to_owned(),
                false => word(one),
            });
        masked.collect::<Vec<_>>().join(" ")
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn every_example_prints_what_is_shown() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let orders = service(&url, "orders", "orders-7f9c").await;
    let billing = service(&url, "billing", "billing-1").await;
    let held = orders.write("order:42").acquire().await.unwrap();
    let _other = orders.read("order:43").acquire().await.unwrap();
    let wait = Duration::from_secs(3_600);
    let _waiter = tokio::spawn(billing.read("order:42").wait(wait).acquire());
    until(&orders, "order:42", |seen| seen.waiters.len() == 1).await;

    let directory = tempfile::tempdir().unwrap();
    let file = format!("{}\n", blocks("toml").next().unwrap());
    std::fs::write(directory.path().join("locks.toml"), file).unwrap();
    let program = workspace_binary("lockctl").await;
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let mut shown = 0;
    for example in
        blocks("console").flat_map(|block| block.strip_prefix("$ ").unwrap().split("\n$ "))
    {
        let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(directory.path());
        shell.env("PATH", &path).env("REDIS_URL", &url);
        shell.env_remove("LOCK_URL").env_remove("LOCK_TOWER_ENFORCE");
        let output = tokio::task::spawn_blocking(move || shell.stdin(Stdio::null()).output());
        let run = Run::of(bounded(LIMIT, output).await.unwrap().unwrap());
        assert_eq!(masked(&run.out), masked(expected), "{command} printed:\n{}", run.out);
        shown += 1;
    }
    assert!(shown >= 8, "only {shown} examples were found");
    assert!(held.release().await.is_err(), "the example with --force took it away");
}
