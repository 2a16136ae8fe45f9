//! A script's header is its contract: it is there, and it is whole.

use std::fs;
use std::path::{Path, PathBuf};

use lock_core::test_util::{SCRIPTS, SHARDED_SCRIPTS};

use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, downgrade, release_read, release_write, renew_read,
    renew_write, upgrade,
};
use crate::scripts::{
    any::call as any_call, fair::call as fair_call, fair_read_write::call as fair_rw_call,
    plain::call as plain_call, semaphore::call as semaphore_call,
};

/// The scripts of Redisson's wire, and what both wires share.
fn roots() -> [PathBuf; 2] {
    ["redisson/scripts", "scripts"].map(|folder| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../lock-core/src/redis").join(folder)
    })
}

/// Folder and name with the text, of every file.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for root in roots() {
        for folder in fs::read_dir(&root).unwrap() {
            for file in fs::read_dir(folder.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().with_extension("");
                files.push((name.to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() >= SCRIPTS.len());
    files
}

/// Neither functions of `lib/` nor fast paths.
fn is_script(name: &str) -> bool {
    !name.starts_with("lib/") && !name.starts_with("fast_path/")
}

fn scripts() -> Vec<(String, String)> {
    files().into_iter().filter(|(name, _)| is_script(name)).collect()
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
fn every_file_begins_with_its_name() {
    for (name, text) in files() {
        assert!(text.starts_with(&format!("-- {name}: ")), "{name}");
    }
}

/// The fast path comes first, in a block of its own.
fn after_fast_path<'a>(text: &'a str, files: &[(String, String)]) -> Option<&'a str> {
    let Some(mut block) = text.strip_prefix("do\n") else { return Some(text) };
    loop {
        if let Some(behind) = block.strip_prefix("end\n\n") {
            return Some(behind);
        }
        let mut fast_paths = files.iter().filter(|(name, _)| name.starts_with("fast_path/"));
        block = fast_paths.find_map(|(_, text)| block.strip_prefix(text.as_str()))?;
    }
}

/// What goes before a script: files of shared functions, and other scripts as functions.
fn used<'a>(mut before: &'a str, files: &[(String, String)]) -> Option<&'a str> {
    while !before.is_empty() {
        before = files.iter().find_map(|(name, text)| {
            let function = name.replace('/', "_");
            match name.strip_prefix("lib/") {
                Some(_) => before.strip_prefix(text.as_str()),
                None => before
                    .strip_prefix(&format!("local function {function}(KEYS, ARGV)\n"))?
                    .strip_prefix(text.as_str())?
                    .strip_prefix("end\n\n"),
            }
        })?;
    }
    Some(before)
}

#[test]
fn every_script_is_sent_to_redis_whole_and_after_what_it_uses() {
    let files = files();
    let count = files.iter().filter(|(name, _)| is_script(name)).count();
    for (scripts, opening) in
        [(SCRIPTS, "local SHARDED = false\n\n"), (SHARDED_SCRIPTS, "local SHARDED = true\n\n")]
    {
        assert_eq!(count, scripts.len());
        for script in scripts {
            let (_, text) = files.iter().find(|(name, _)| name == script.name).expect("its file");
            let before = script.text.strip_suffix(text.as_str()).expect("the file comes last");
            let before = before.strip_prefix(opening).expect("whether shards are told comes first");
            let before = after_fast_path(before, &files).expect("the fast path in one block");
            assert_eq!(used(before, &files), Some(""), "{}", script.name);
        }
    }
}

#[test]
fn shared_files_only_define_and_take_nothing() {
    for (name, text) in files().iter().filter(|(name, _)| name.starts_with("lib/")) {
        assert!(!text.contains("KEYS") && !text.contains("ARGV"), "{name}");
        let effect = |line: &&str| line.starts_with("redis.") || line.starts_with("return");
        assert_eq!(text.lines().filter(effect).count(), 0, "{name}");
        assert!(text.ends_with("\n\n"), "{name}: a blank line parts it from what follows");
    }
}

/// Messages go through `publish`, or subscribers of a cluster's shards would not receive them.
#[test]
fn only_publish_sends_messages() {
    let tells = |name: &str| name == "lib/publish" || name.starts_with("fast_path/release");
    for (name, text) in files().iter().filter(|(name, _)| !tells(name)) {
        assert!(!text.contains("publish'"), "{name}");
    }
}

#[test]
fn every_header_lists_the_replies() {
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
        // These walk over their arguments.
        let walks =
            name.contains("/renew") || name.contains("/leave") || name == "common/acquire_all";
        assert_eq!(raw > 0, walks, "{name}");
    }
}

#[test]
fn the_calls_of_these_tests_name_arguments_as_the_headers_do() {
    let files = scripts();
    let calls: Vec<Call> = vec![
        plain_call::acquire("a:1", 1),
        plain_call::release("a:1", 0),
        any_call::inspect(),
        any_call::force_release(),
        any_call::request_release(),
        any_call::asked("a:1"),
        any_call::transfer("read", "a:1", "b:2"),
        fair_rw_call::write("a:1"),
        fair_rw_call::release("read", "a:1", 0),
        fair_rw_call::upgrade("a:1", 0, 1),
        fair_rw_call::downgrade("a:1", 1, 0),
        semaphore_call::acquire(1, 2),
        semaphore_call::release(1),
        semaphore_call::resize(2, 0),
        fair_call::acquire("a:1", 1),
        fair_call::release("a:1", 0),
        fair_call::leave_together(&["a:1"]),
        fair_rw_call::leave_together(&["read:a:1"]),
        acquire_read("a:1", 1),
        acquire_write("a:1", 1),
        release_read("a:1", 0),
        release_write("a:1", 0),
        upgrade("a:1", 0, 1),
        downgrade("a:1", 1, 0),
    ];
    for call in calls {
        let (_, text) = files.iter().find(|(name, _)| name == call.script).unwrap();
        let declared = text.lines().filter(is_header);
        let declared =
            declared.filter_map(|line| line.strip_prefix("-- ARGV[")?.split_whitespace().nth(1));
        let called = ["nonce"].into_iter().chain(call.args.iter().map(|(name, _)| *name));
        assert!(declared.eq(called), "{call:?}");
    }
    for call in [renew_read("a:1"), renew_write("a:1"), plain_call::renew("a:1")] {
        assert_eq!(call.args.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["owner", "lease"]);
    }
}
