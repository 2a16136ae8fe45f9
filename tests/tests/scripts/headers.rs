//! A script's header is its contract: it is there, and it is whole.

use std::fs;
use std::path::{Path, PathBuf};

use lock_core::__private::SCRIPTS;

use crate::call::{
    Call, acquire_read, acquire_write, downgrade, inspect, release_read, release_write, renew_read,
    renew_write, upgrade,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lock-core/src/redis/scripts")
}

/// Folder and name with the text, of every file.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in fs::read_dir(root()).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().with_extension("");
            files.push((name.to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(files.len() >= SCRIPTS.len());
    files
}

fn scripts() -> Vec<(String, String)> {
    files().into_iter().filter(|(name, _)| !name.starts_with("shared/")).collect()
}

fn is_header(line: &&str) -> bool {
    line.starts_with("--")
}

/// The highest n of `KEYS[n]`, or 0.
fn highest<'a>(array: &str, lines: impl Iterator<Item = &'a str>) -> u32 {
    let opening = format!("{array}[");
    let text: String = lines.collect();
    let indices = text.split(&opening).skip(1);
    indices.filter_map(|rest| rest.split_once(']')?.0.parse().ok()).max().unwrap_or(0)
}

#[test]
fn every_file_says_its_name_first() {
    for (name, text) in files() {
        assert!(text.starts_with(&format!("-- {name}: ")), "{name}");
    }
}

#[test]
fn every_script_is_sent_to_redis_whole_and_after_what_it_shares() {
    let files = scripts();
    assert_eq!(files.len(), SCRIPTS.len());
    for (name, text) in files {
        let script =
            SCRIPTS.iter().find(|script| script.name == name).expect("a script of the file");
        let shared = script.text.strip_suffix(text.as_str()).expect("the file comes last");
        assert!(shared.lines().all(|line| !line.contains("KEYS[") && !line.contains("ARGV[")));
        let calls =
            shared.lines().filter(|line| line.starts_with("redis.") || line.starts_with("return"));
        assert_eq!(calls.count(), 0, "{name}: shared files only define");
    }
}

#[test]
fn every_script_says_what_it_returns() {
    for (name, text) in scripts() {
        let mut header = text.lines().take_while(is_header);
        assert!(header.any(|line| line.starts_with("-- Returns {")), "{name}");
        let statuses = text.lines().filter(|line| !is_header(line));
        let statuses = statuses.flat_map(|line| line.split("{'").skip(1).collect::<Vec<_>>());
        for status in statuses.filter_map(|rest| Some(rest.split_once("', nonce")?.0)) {
            let told = text
                .lines()
                .take_while(is_header)
                .any(|line| line.contains(&format!("{{{status}, nonce")));
            assert!(told, "{name} does not tell of {status}");
        }
    }
}

#[test]
fn what_a_script_takes_is_what_its_header_declares() {
    for (name, text) in scripts() {
        for array in ["KEYS", "ARGV"] {
            let declared = highest(array, text.lines().filter(is_header));
            let used = highest(array, text.lines().filter(|line| !is_header(line)));
            assert_eq!(used, declared, "{array} in {name}");
        }
    }
}

#[test]
fn arguments_are_named_at_the_top_and_nowhere_else() {
    for (name, text) in scripts() {
        let code = text.lines().filter(|line| !is_header(line));
        let after_names = code.skip_while(|line| line.starts_with("local "));
        let raw = after_names.filter(|line| line.contains("KEYS") || line.contains("ARGV")).count();
        // A renewal walks over its arguments.
        assert_eq!(raw > 0, name.starts_with("read_write/renew_"), "{name}");
    }
}

#[test]
fn the_calls_of_these_tests_name_arguments_as_the_headers_do() {
    let calls: [Call; 7] = [
        acquire_read("a:1", 1),
        acquire_write("a:1", 1),
        release_read("a:1", 0),
        release_write("a:1", 0),
        upgrade("a:1", 0, 1),
        downgrade("a:1", 1, 0),
        inspect("a:1"),
    ];
    for call in calls {
        let declared = call.text().lines().filter(is_header);
        let declared =
            declared.filter_map(|line| line.strip_prefix("-- ARGV[")?.split_whitespace().nth(1));
        let called = ["nonce"].into_iter().chain(call.args.iter().map(|(name, _)| *name));
        assert!(declared.eq(called), "{call:?}");
    }
    for call in [renew_read("a:1"), renew_write("a:1")] {
        assert_eq!(call.args.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["owner", "lease"]);
    }
}
