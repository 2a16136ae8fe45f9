//! Code lines: of each crate and folder against its budget, and of the kernel.
//!
//! A code line is neither blank nor a comment, and not in a test. The budgets are in
//! `tests/code_lines.txt`. Raise one only in a commit that says why.

use std::{collections::BTreeMap, fs, path::Path};

use crate::harness::documents::{files, read, root};

const BUDGETS: &str = "tests/code_lines.txt";
/// A budget further above its count is lowered: otherwise a folder could fill up again in silence.
const SLACK: usize = 60;
/// The lines that can be read in an evening: see ARCHITECTURE.md.
const EVENING: usize = 5_020;
/// A file above this says in its first lines why it is not two, and there are few.
const LARGE: usize = 250;

/// The kernel, as ARCHITECTURE.md lists it.
const KERNEL: [&str; 26] = [
    "lock-store/src/lock_store.rs",
    "lock-store/src/command.rs",
    "lock-store/src/outcome.rs",
    "lock-store/src/notify.rs",
    "lock-store/src/snapshot.rs",
    "lock-store/src/runtime",
    "lock-core/src/gate",
    "lock-core/src/hold/mod.rs",
    "lock-core/src/hold/lease.rs",
    "lock-core/src/hold/state.rs",
    "lock-core/src/hold/reconcile.rs",
    "lock-core/src/hold/reconcile_queue.rs",
    "lock-core/src/hold/release_batch.rs",
    "lock-core/src/hold/silent_shards.rs",
    "lock-core/src/hold/start.rs",
    "lock-core/src/hold/renewal",
    "lock-core/src/hold/leavers.rs",
    "lock-core/src/hold/local_handoff.rs",
    "lock-core/src/hold/shared_read.rs",
    "lock-core/src/hold/mode_change.rs",
    "lock-core/src/hold/circuit_breaker.rs",
    "lock-core/src/hold/scope_holds.rs",
    "lock-core/src/hold/request.rs",
    "lock-core/src/hold/client_inner.rs",
    "lock-core/src/acquire",
    "lock-core/src/guard",
];

#[test]
fn every_crate_and_folder_is_within_its_budget() {
    let counted = counted();
    let mut wrong = Vec::new();
    let mut budgets = BTreeMap::new();
    for line in read(&root().join(BUDGETS)).lines().filter(|line| !line.starts_with('#')) {
        let (name, budget) = line.split_once(' ').expect("a name and a number");
        budgets.insert(name.to_owned(), budget.trim().parse::<usize>().expect("a number"));
    }
    for (name, count) in &counted {
        match budgets.get(name) {
            None => wrong.push(format!("{name} has {count} code lines and no budget")),
            Some(budget) if count > budget => {
                wrong.push(format!("{name} has {count} code lines; its budget is {budget}"));
            }
            Some(budget) if count + SLACK < *budget => {
                wrong.push(format!("{name} has {count} code lines: lower its budget of {budget}"));
            }
            Some(_) => {}
        }
    }
    let gone = budgets.keys().filter(|name| !counted.contains_key(*name));
    wrong.extend(gone.map(|name| format!("{name} is not there any more")));
    assert!(wrong.is_empty(), "{BUDGETS}:\n{}", wrong.join("\n"));
}

#[test]
fn the_kernel_can_be_read_in_an_evening() {
    let count: usize = KERNEL.iter().map(|part| lines_below(&root().join(part))).sum();
    assert!(count <= EVENING, "the kernel has {count} code lines");
}

#[test]
fn large_files_are_few_and_say_why() {
    let large: Vec<_> = sources()
        .iter()
        // Cases, as the tests of other crates are.
        .filter(|name| *name != "lock-conformance/src")
        .flat_map(|name| files(&root().join(name), "rs"))
        .filter(|path| lines_of(path) > LARGE)
        .collect();
    let silent: Vec<_> = large
        .iter()
        .filter(|path| {
            let text = read(path);
            let head: Vec<_> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            !head.join(" ").contains("One file:")
        })
        .map(|path| format!("{} ({})", path.display(), lines_of(path)))
        .collect();
    assert!(silent.is_empty(), "without a reason (\"One file: ..\"): {}", silent.join(", "));
    assert!(large.len() <= 6, "{} files above {LARGE} code lines", large.len());
}

/// The `src` of each published crate whose code is this project's.
fn sources() -> Vec<String> {
    let members = fs::read_dir(root()).expect("the repository is there");
    let mut names: Vec<_> = members
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("lock") && name != "lock-zookeeper-client")
        .map(|name| format!("{name}/src"))
        .filter(|name| root().join(name).is_dir())
        .collect();
    names.sort();
    names
}

/// By crate and by folder directly below its `src`; and the Lua.
fn counted() -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for name in sources() {
        let src = root().join(&name);
        counted.insert(name.clone(), lines_below(&src));
        for entry in fs::read_dir(&src).expect("the source is there").flatten() {
            if entry.path().is_dir() {
                let folder = entry.file_name().into_string().expect("UTF-8");
                counted.insert(format!("{name}/{folder}"), lines_below(&entry.path()));
            }
        }
    }
    let lua = files(&root().join("lock-core/src"), "lua");
    let lines = lua.iter().map(|path| read(path)).map(|text| {
        let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("--");
        text.lines().filter(code).count()
    });
    counted.insert("lua".to_owned(), lines.sum());
    counted
}

fn lines_below(path: &Path) -> usize {
    if path.is_file() {
        return lines_of(path);
    }
    files(path, "rs").iter().map(|file| lines_of(file)).sum()
}

/// Without those of tests.
fn lines_of(path: &Path) -> usize {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    if name.ends_with("tests.rs") || name == "fake_server.rs" {
        return 0;
    }
    let text = read(path);
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    code.lines().filter(is_code).count()
}

#[test]
fn blank_lines_comments_and_tests_do_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.rs");
    let source = "//! Doc.\n\nfn f() {\n    // Why.\n    g();\n}\n\n#[cfg(test)]\nmod tests {\n}\n";
    fs::write(&path, source).expect("written");
    assert_eq!(lines_of(&path), 3);
}
