//! docs/shadow-mode.md shows what its commands print, and what they work out comes true.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use super::{FILTER, Log, traffic::play};

const PAGE: &str = include_str!("../../../../../docs/shadow-mode.md");

/// The blocks in this language, in order.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let open = format!("```{language}\n");
    let after: Vec<_> = PAGE.split(&open).skip(1).collect();
    after.into_iter().map(|rest| rest.split("\n```").next().unwrap())
}

fn block(language: &str) -> &'static str {
    blocks(language).next().unwrap()
}

/// The commands, each with the output that is shown. A command may be quoted over several lines.
fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let examples = blocks("console").flat_map(|block| block[2..].split("\n$ "));
    examples.map(|example| {
        let mut ends = example.match_indices('\n').map(|(at, _)| at);
        let end = ends.find(|at| example[..*at].matches('\'').count() % 2 == 0);
        example.split_at(end.unwrap_or(example.len()))
    })
}

/// Without what differs from run to run: the time, the client's random name, and spaces.
fn masked(text: &str) -> String {
    let line = |line: &str| {
        let differs = ["\"client\":", "\"arrived_us\":"];
        let field = differs.iter().find(|field| line.trim_start().starts_with(**field));
        match field {
            Some(field) => (*field).to_owned(),
            None => line.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

fn run(command: &str, folder: &Path) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(folder);
    let output = shell.env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_command_prints_what_is_shown() {
    assert!(block("rust").contains(&format!("{FILTER:?}.parse()")), "the page has another filter");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("locks.toml", block("toml"));
    write("replay.jq", block("jq"));
    let log = Log::default();
    let collecting = log.collect();
    let played = play(&folder.path().join("locks.toml")).await;
    drop(collecting);
    write("service.log", &log.text());
    assert!(played.values().all(|count| count.refused == 0), "{played:?}");

    let (mut shown, mut printed) = (String::new(), String::new());
    for (command, expected) in examples() {
        let output = run(command, folder.path());
        println!("$ {command}\n{output}");
        shown += &format!("$ {command}\n{}\n", masked(expected));
        printed += &format!("$ {command}\n{}\n", masked(&output));
    }
    assert!(examples().count() >= 10, "only some of the examples were found: {shown}");
    assert!(printed == shown, "the page shows:\n{shown}\nprinted is:\n{printed}");
}

#[tokio::test(start_paused = true)]
async fn as_many_are_refused_as_is_worked_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.toml");
    let replays: Vec<_> = examples().filter(|(command, _)| command.contains("replay.jq")).collect();
    for (wait, (command, shown)) in ["1", "5"].into_iter().zip(&replays) {
        assert!(command.contains(&format!("--argjson wait {wait} ")), "{command}");
        let share = shown.split("\nreport: ").nth(1).unwrap().split(' ').next().unwrap();
        let policies = block("toml").replace("\"shadow\"", "\"on\"");
        fs::write(&file, policies.replace("\"1s\"", &format!("\"{wait}s\""))).unwrap();
        let reports = &play(&file).await["reports"];
        let refused = 100.0 * reports.refused as f64 / reports.requests as f64;
        println!("{wait} s: {reports:?}, {refused:.1} %; worked out: {share} %");
        let off = (refused - share.parse::<f64>().unwrap()).abs();
        assert!(off <= 3.0, "{refused} % instead of {share} % are refused with {wait} s");
    }
    assert_eq!(replays.len(), 2);
}
