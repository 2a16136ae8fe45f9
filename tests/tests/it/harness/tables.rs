//! The tables of what others' tests check, and of their defects, name tests that exist.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// Rows that name no test begin with one of these, and give the reason.
const REASONS: [&str; 2] = ["Not built", "Does not apply"];

/// Where programs of tests are.
const PACKAGES: [&str; 7] =
    ["tests", "lock-core", "lock-key", "lock-tower", "lockctl", "tests/model-check", "tests/fuzz"];

/// What the column of tests is called.
const TITLES: [&str; 2] = ["Ours", "Tests"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// The tests of a source file: functions marked as such, and cases that a macro makes tests of.
fn tests_in(source: &str) -> HashSet<&str> {
    let (mut functions, mut marked, mut cases) = (HashSet::new(), HashSet::new(), HashSet::new());
    let (mut is_test, mut in_cases, mut in_targets) = (false, false, false);
    for line in source.lines().map(str::trim) {
        if line.starts_with("on_every_") && line.ends_with('{') {
            in_cases = true;
        } else if line == "targets! {" {
            in_targets = true;
        } else if in_targets {
            // The fuzzer's: the functions are elsewhere, or it would not compile.
            in_targets = line != "}";
            marked.extend(words(line));
        } else if in_cases {
            in_cases = line != "}";
            cases.extend(words(line));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(name) = line.split("fn ").nth(1).and_then(|rest| words(rest).next()) {
            functions.insert(name);
            if std::mem::take(&mut is_test) {
                marked.insert(name);
            }
        }
    }
    cases.retain(|case| functions.contains(case));
    marked.extend(cases);
    marked
}

/// The list of the cases that run on every store, and its line that begins those of a module.
const SUITE: &str = "lock-conformance/src/lib.rs";

/// Whether this is a conformance case: they are listed by module, each with what it needs.
fn is_conformance_case(modules: &[&str], name: &str) -> bool {
    let ["conformance", module] = modules else { return false };
    let list = fs::read_to_string(root().join(SUITE)).unwrap();
    let begin = format!("{module} {{");
    let listed = list.lines().map(str::trim).skip_while(|line| *line != begin).skip(1);
    let mut listed = listed.take_while(|line| *line != "}");
    listed.any(|line| line.split(' ').next() == Some(name))
}

/// The file of a module below this folder, if it has one.
fn module(folder: &Path, modules: &[&str]) -> Option<PathBuf> {
    let path = folder.join(modules.join("/"));
    let files = [path.with_extension("rs"), path.join("mod.rs"), path.join("main.rs")];
    files.into_iter().find(|file| file.is_file())
}

/// The file of a test's module, and the one that must declare that module. A module is in a
/// package's program `it` or `process_wide`, or in a program of its own; a crate's own name stands
/// for the tests beside its code.
fn files(modules: &[&str]) -> (PathBuf, Option<PathBuf>) {
    let [first, inner @ ..] = modules else { unreachable!("a name has a module") };
    let root = root();
    for package in PACKAGES {
        let programs = root.join(package).join("tests");
        let parents = &modules[..modules.len() - 1];
        for folder in [programs.join("it"), programs.join("process_wide"), programs] {
            if let Some(file) = module(&folder, modules) {
                return (file, module(&folder, parents));
            }
        }
    }
    let beside = root.join(first.replace('_', "-")).join("src");
    (beside.join(inner.join("/")).with_extension("rs"), None)
}

fn missing(test: &str) -> Option<String> {
    let parts: Vec<_> = test.split("::").collect();
    let (name, modules) = parts.split_last().unwrap();
    if is_conformance_case(modules, name) {
        return None;
    }
    let (file, main) = files(modules);
    let Ok(source) = fs::read_to_string(&file) else {
        return Some(format!("{test}: there is no {}", file.display()));
    };
    if !tests_in(&source).contains(name) {
        return Some(format!("{test}: no such test in {}", file.display()));
    }
    let declared = format!("mod {};", modules.last().unwrap());
    let main = main.map(|main| fs::read_to_string(main).unwrap());
    let is_part = main.is_none_or(|main| {
        main.lines().any(|line| line.trim_start_matches("pub(crate) ") == declared)
    });
    (!is_part).then(|| format!("{test}: no program has such a module"))
}

/// The names of tests in a cell.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).filter(|code| code.contains("::"))
}

/// What is wrong with a table.
fn wrong(document: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    // A table of something else, such as figures, begins with other titles.
    let mut of_tests = false;
    let mut lines = document.lines().peekable();
    while let Some(row) = lines.next() {
        if !row.starts_with("| ") {
            continue;
        }
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        if lines.peek().is_some_and(|next| next.starts_with("|--")) {
            of_tests = cells.last().is_some_and(|title| TITLES.contains(title));
            continue;
        }
        if !of_tests {
            continue;
        }
        let (&[theirs, ours] | &[theirs, _, ours]) = cells.as_slice() else {
            wrong.push(format!("not two cells, or three: {row}"));
            continue;
        };
        let says_why = REASONS.iter().any(|reason| ours.starts_with(reason));
        if theirs.is_empty() || !says_why && named(ours).next().is_none() {
            wrong.push(format!("neither a test nor a reason: {row}"));
        }
        wrong.extend(named(ours).filter_map(missing));
    }
    wrong
}

#[test]
fn every_test_in_the_tables_exists() {
    for (name, rows) in
        [("tests/conformance.md", 50), ("tests/defects.md", 50), ("docs/guarantees.md", 17)]
    {
        let document = fs::read_to_string(root().join(name)).unwrap();
        let wrong = wrong(&document);
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
        assert!(document.lines().filter(|line| line.starts_with("| ")).count() > rows, "{name}");
    }
}

/// Its table has more columns than these.
#[test]
fn every_test_in_security_exists() {
    let document = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    assert!(named(&document).count() > 20);
    let gone: Vec<_> = named(&document).filter_map(missing).collect();
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

#[test]
fn what_is_wrong_with_a_table_is_found() {
    let row = |ours: &str| wrong(&format!("| Theirs | Ours |\n|---|---|\n| theirs | {ours} |"));
    for right in [
        "`harness::tables::what_is_wrong_with_a_table_is_found`",
        "`conformance::matrix::between_processes`, `edges::times_beyond_all_bounds_do_no_harm`",
        "`lock_core::gate::tests::a_caller_that_gives_up_blocks_no_other`",
        "`ends::a_client_that_hangs_up_releases`",
        "Not built: not requested",
    ] {
        assert_eq!(row(right), [""; 0], "{right}");
    }
    assert_eq!(wrong("| Row | Faults |\n|---|---|\n| 1 | 20 |"), [""; 0], "a table of figures");
    for bad in [
        "",
        "Surely",
        "`harness::tables::wrong`",
        "`harness::tables::no_such_test`",
        "`conformance::no_such_file::between_processes`",
        "`no_such_program::matrix::between_processes`",
        "Does not apply, but `conformance::matrix::entered` has it",
        "one | two | more cells",
    ] {
        assert_eq!(row(bad).len(), 1, "{bad}");
    }
}
