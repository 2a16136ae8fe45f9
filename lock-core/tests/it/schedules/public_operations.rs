//! No public async operation of this crate is left out of [`cancelled`](crate::schedules::cancelled).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::schedules::cancelled::{CONNECTING, cases};

/// What is there for generated code and for tests alone.
const PRIVATE: [&str; 2] = ["__private.rs", "test_util"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The functions that give a future, and the public types that are one.
fn operations(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("pub ") {
        let head = text[at..].split(['{', ';']).next().unwrap();
        let Some((before, name)) = head.split_once("fn ") else { continue };
        let name = name.split(['(', '<']).next().unwrap();
        if before == "pub async " || before == "pub " && head.contains("-> impl Future") {
            found.push(name.to_owned());
        }
    }
    for kind in ["Future for ", "IntoFuture for ", "Stream for "] {
        for (at, _) in text.match_indices(kind) {
            let name = text[at + kind.len()..].split([' ', '<']).next().unwrap();
            let public = format!("pub struct {name}");
            let known = found.iter().any(|known| known == name);
            found.extend((text.contains(&public) && !known).then(|| name.to_owned()));
        }
    }
    found
}

#[test]
fn every_public_async_operation_is_dropped_after_every_poll() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut public = BTreeSet::new();
    for path in sources(&root) {
        let file = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        if PRIVATE.iter().any(|private| file.starts_with(private)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        public.extend(operations(&text).into_iter().map(|name| format!("{file}::{name}")));
    }
    let mut dropped: BTreeSet<String> =
        cases().into_iter().map(|case| case.operation.to_owned()).collect();
    dropped.extend(CONNECTING.map(str::to_owned));
    assert_eq!(public, dropped, "left: what is public; right: what is dropped after every poll");
}

#[test]
fn the_scan_sees_what_it_looks_for() {
    let text = "
        pub async fn one(&self) {}
        pub fn two(&self) -> impl Future<Output = ()> + Send {}
        pub(crate) async fn three() {}
        pub fn four(work: impl Future) -> u8 {}
        pub struct Five;
        impl Future for Five {}
        struct Six;
        impl Future for Six {}
        #[cfg(test)] pub async fn seven() {}";
    assert_eq!(operations(text), ["one", "two", "Five"]);
}
