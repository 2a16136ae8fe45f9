//! A script's header is its contract: it is there, and it is whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lock_core::test_util::{NATIVE_SCRIPTS, SCRIPTS, SHARDED_SCRIPTS};

use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, downgrade, release_read, release_write, renew_read,
    renew_write, upgrade,
};
use crate::scripts::{
    any::call as any_call, fair::call as fair_call, fair_read_write::call as fair_rw_call,
    native::call as native_call, plain::call as plain_call, semaphore::call as semaphore_call,
};

/// What the names of the native wire's files begin with.
const NATIVE: &str = "native/";

/// The scripts of Redisson's wire, what both wires share, and the scripts of the native wire, with what
/// their names begin with.
fn roots() -> [(PathBuf, &'static str); 3] {
    let redis = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lock-core/src/redis");
    [("redisson/scripts", ""), ("scripts", ""), ("native/scripts", NATIVE)]
        .map(|(folder, beginning)| (redis.join(folder), beginning))
}

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Folder and name with the text, of every file.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (root, beginning) in roots() {
        for path in below(&root) {
            let name = path.strip_prefix(&root).unwrap().with_extension("");
            let name = format!("{beginning}{}", name.to_str().unwrap());
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    files
}

/// A file of functions that scripts share.
fn is_shared(name: &str) -> bool {
    name.trim_start_matches(NATIVE).starts_with("lib/")
}

/// Neither functions of `lib/` nor fast paths.
fn is_script(name: &str) -> bool {
    !is_shared(name) && !name.contains("fast_path/")
}

/// Every script of both wires.
fn scripts() -> Vec<(String, String)> {
    files().into_iter().filter(|(name, _)| is_script(name)).collect()
}

/// The name of a script's file: both wires have those of `common/`, some of them in a form of their own.
fn file_name<'a>(script: &'a str, files: &'a [(String, String)]) -> &'a str {
    let common = |name: &str| {
        name.strip_prefix("common/").is_some()
            && name.rsplit('/').next() == script.strip_prefix(NATIVE)
    };
    let own = files.iter().any(|(name, _)| name == script);
    let file = files.iter().find(|(name, _)| if own { name == script } else { common(name) });
    &file.expect("its file").0
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
        let begins = format!("-- {}: ", name.trim_start_matches(NATIVE));
        assert!(text.starts_with(&begins), "{name}");
    }
}

/// The fast path comes first, in a block of its own.
fn after_fast_path<'a>(text: &'a str, files: &[(String, String)]) -> Option<&'a str> {
    // On the native wire the constants that it needs come before it.
    let mark =
        files.iter().find(|(name, _)| name == "native/lib/mark").map(|(_, mark)| mark.as_str());
    let text = text.strip_prefix(mark?).unwrap_or(text);
    let Some(mut block) = text.strip_prefix("do\n") else { return Some(text) };
    loop {
        if let Some(behind) = block.strip_prefix("end\n\n") {
            return Some(behind);
        }
        let mut fast_paths = files.iter().filter(|(name, _)| name.contains("fast_path/"));
        block = fast_paths.find_map(|(_, text)| block.strip_prefix(text.as_str()))?;
    }
}

/// What goes before a script: files of shared functions, and other scripts as functions.
fn used<'a>(mut before: &'a str, files: &[(String, String)]) -> Option<&'a str> {
    while !before.is_empty() {
        before = files.iter().find_map(|(name, text)| {
            if is_shared(name) {
                return before.strip_prefix(text.as_str());
            }
            let (_, function) =
                before.strip_prefix("local function ")?.split_once("(KEYS, ARGV)\n")?;
            function.strip_prefix(text.as_str())?.strip_prefix("end\n\n")
        })?;
    }
    Some(before)
}

#[test]
fn every_script_is_sent_to_redis_whole_and_after_what_it_uses() {
    let files = files();
    let whole = "local SHARDED = false\n\n";
    for (scripts, opening) in
        [(SCRIPTS, whole), (SHARDED_SCRIPTS, "local SHARDED = true\n\n"), (NATIVE_SCRIPTS, whole)]
    {
        let sent: BTreeSet<_> =
            scripts.iter().map(|script| file_name(script.name, &files)).collect();
        assert_eq!(sent.len(), scripts.len());
        for script in scripts {
            let file = file_name(script.name, &files);
            let (_, text) = files.iter().find(|(name, _)| name == file).unwrap();
            let before = script.text.strip_suffix(text.as_str()).expect("the file comes last");
            let before =
                before.strip_prefix(opening).expect("whether shards are reported comes first");
            let before = after_fast_path(before, &files).expect("the fast path in one block");
            assert_eq!(used(before, &files), Some(""), "{}", script.name);
        }
    }
    let sent = SCRIPTS.iter().chain(NATIVE_SCRIPTS);
    let sent: BTreeSet<_> = sent.map(|script| file_name(script.name, &files)).collect();
    let all = files.iter().map(|(name, _)| name.as_str()).filter(|name| is_script(name));
    assert_eq!(sent, all.collect(), "each file is sent");
}

#[test]
fn shared_files_only_define_and_take_nothing() {
    for (name, text) in files().iter().filter(|(name, _)| is_shared(name)) {
        assert!(!text.contains("KEYS") && !text.contains("ARGV"), "{name}");
        let effect = |line: &&str| line.starts_with("redis.") || line.starts_with("return");
        assert_eq!(text.lines().filter(effect).count(), 0, "{name}");
        assert!(text.ends_with("\n\n"), "{name}: a blank line parts it from what follows");
    }
}

/// Messages go through `publish`, or subscribers of a cluster's shards would not receive them.
#[test]
fn only_publish_sends_messages() {
    let tells = |name: &str| name.ends_with("lib/publish") || name.contains("fast_path/release");
    for (name, text) in files().iter().filter(|(name, _)| !tells(name)) {
        assert!(!text.contains("publish'"), "{name}");
    }
}

/// The statuses that replies of a script begin with: of a list, and of a text.
fn statuses(text: &str) -> BTreeSet<&str> {
    let mut statuses = BTreeSet::new();
    for line in text.lines().filter(|line| !is_header(line)) {
        let quoted = line.split('\'').collect::<Vec<_>>();
        for parts in quoted.windows(3) {
            let [before, status, after] = parts else { continue };
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            };
            let list = before.ends_with('{')
                && (after.starts_with(", nonce") || after.starts_with(", ARGV[1]"));
            if list && is_name(status) {
                statuses.insert(*status);
            }
            statuses.extend(status.strip_suffix(' ').filter(|name| is_name(name)));
        }
    }
    statuses
}

#[test]
fn every_header_lists_the_replies() {
    for (name, text) in scripts() {
        let header: Vec<_> = text.lines().take_while(is_header).collect();
        let returns =
            |line: &&str| line.starts_with("-- Returns {") || line.starts_with("-- Returns '");
        assert!(header.iter().any(returns), "{name}");
        for status in statuses(&text) {
            let forms = ["{S, nonce", "'S nonce", "'S value"].map(|form| form.replace('S', status));
            let listed = header.iter().any(|line| forms.iter().any(|form| line.contains(form)));
            assert!(listed, "{name} does not tell of {status}");
        }
    }
}

/// How many keys and arguments a script takes, apart from those that it walks over.
fn taken(array: &str, text: &str) -> u32 {
    let code = || text.lines().filter(|line| !is_header(line));
    // A lock's three names go together.
    let names = code().any(|line| array == "KEYS" && line.contains("read_lock(KEYS, 1"));
    highest(array, code()).max(if names { 3 } else { 0 })
}

#[test]
fn what_a_script_takes_is_what_its_header_declares() {
    for (name, text) in scripts() {
        for array in ["KEYS", "ARGV"] {
            let declared = highest(array, text.lines().filter(is_header));
            // The first value that it walks over is its nonce.
            let is_own = name == "native/release_free" && array == "ARGV";
            assert_eq!(taken(array, &text), declared + u32::from(is_own), "{array} in {name}");
        }
    }
}

/// The lines of a header that declare keys or arguments, each without its number.
fn declared<'a>(array: &str, text: &'a str) -> Vec<Vec<&'a str>> {
    let opening = format!("-- {array}[");
    let lines = text.lines().take_while(is_header);
    let lines = lines.filter_map(|line| line.strip_prefix(&opening)?.split_once(']'));
    lines.map(|(_, line)| line.split_whitespace().collect()).collect()
}

#[test]
fn a_key_is_declared_with_its_type_and_a_time_with_its_unit() {
    let types = ["string", "hash", "list", "set", "zset", "channel", "prefix"];
    let times = ["lease", "ttl", "token_ttl", "place"];
    let mut of_time = 0;
    for (name, text) in scripts() {
        for key in declared("KEYS", &text) {
            // The keys of another script.
            let elsewhere = key.contains(&"acquire");
            let typed = key.get(1).is_some_and(|kind| types.contains(kind));
            assert!(typed || elsewhere, "{name}: {key:?}");
        }
        for argument in declared("ARGV", &text) {
            let unit = argument.get(1).is_some_and(|word| word.trim_end_matches(',') == "ms");
            if times.contains(&argument[0]) {
                of_time += 1;
                assert!(unit, "{name}: {argument:?}");
            }
        }
    }
    assert!(of_time > 20, "{of_time}");
}

/// The clocks of two clients differ: a lease that one of them sets would end too early for the other, and
/// both would hold the lock.
#[test]
fn no_script_takes_a_clients_clock() {
    for (name, text) in scripts() {
        for argument in declared("ARGV", &text) {
            let of_clock = ["epoch", "now", "clock", "since", "until", "deadline"];
            // How long a place lives, and how long its owner has waited: both are spans.
            let span = argument[0].ends_with("_ms")
                || argument.contains(&"ms")
                || argument.contains(&"ms,");
            let moment = argument.iter().any(|word| of_clock.contains(word));
            assert!(!moment || span, "{name}: {argument:?}");
            assert!(!argument.contains(&"epoch"), "{name}: {argument:?}");
        }
    }
    // The machine's own clock is not the one by which keys expire.
    for (name, text) in files() {
        for clock in ["os.time", "os.clock", "os.date"] {
            assert!(!text.contains(clock), "{name}: {clock}");
        }
    }
}

/// On the native wire the names of a lock are passed on together, and some arguments are used once.
#[test]
fn arguments_are_named_at_the_top_and_nowhere_else() {
    for (name, text) in scripts().iter().filter(|(name, _)| !name.starts_with(NATIVE)) {
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
        any_call::requested("a:1"),
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
        native_call::acquire("a:1"),
        native_call::release("ew", "a:1"),
        native_call::release_free("lt1ewa:1"),
        native_call::leave("e", &[("a:1", "write")]),
        native_call::renew("e", "write", "a:1"),
        native_call::convert("a:1", "write", 0, 1),
        native_call::transfer("e", "write", "a:1", "b:2"),
        native_call::inspect(),
        native_call::count_permits(),
        native_call::force_release(),
        native_call::request_release(),
    ];
    for call in calls {
        let (_, text) = files.iter().find(|(name, _)| name == call.script).unwrap();
        let declared = declared("ARGV", text);
        let declared = declared.iter().map(|argument| argument[0]);
        let nonce = call.own_nonce().is_none().then_some("nonce");
        let called = nonce.into_iter().chain(call.args.iter().map(|(name, _)| *name));
        assert!(declared.eq(called), "{call:?}");
    }
    for call in [renew_read("a:1"), renew_write("a:1"), plain_call::renew("a:1")] {
        assert_eq!(call.args.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["owner", "lease"]);
    }
}
