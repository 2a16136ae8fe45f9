//! SECURITY.md names tests that exist.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

const DOCUMENT: &str = include_str!("../../../SECURITY.md");

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What a test can be called: its function, its file, and the targets of the fuzzer.
fn known() -> HashSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["tests", "lock-core", "lock-tower", "lockctl"] {
        sources(&root.join(folder), &mut files);
    }
    let mut known = HashSet::new();
    for file in files {
        known.insert(file.file_stem().unwrap().to_string_lossy().into_owned());
        let text = fs::read_to_string(&file).unwrap();
        let functions = text.lines().filter_map(|line| line.split("fn ").nth(1));
        known.extend(functions.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
    }
    known
}

#[test]
fn its_tests_exist() {
    let known = known();
    let named: Vec<_> =
        DOCUMENT.split('`').skip(1).step_by(2).filter(|code| code.contains("::")).collect();
    assert!(named.len() > 20, "{named:?}");
    let gone: Vec<_> = named
        .iter()
        .filter(|name| !name.split("::").skip(1).all(|part| known.contains(part)))
        .collect();
    assert!(gone.is_empty(), "{gone:?}");
}
