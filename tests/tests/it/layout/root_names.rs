//! The front page of lock-tower: few names at its root, the others in modules.

use crate::harness::documents::{read, root};

const MOST: usize = 30;

/// The names that the root of a crate re-exports, without those of modules.
fn names(source: &str) -> Vec<&str> {
    let statements = source.split("\npub use ").skip(1);
    let statements = statements.filter_map(|rest| rest.split(';').next());
    let words = statements
        .flat_map(|statement| statement.split(|char: char| !char.is_alphanumeric() && char != '_'));
    let is_name = |word: &&str| word.starts_with(char::is_uppercase) || *word == "distributed_lock";
    words.filter(is_name).collect()
}

#[test]
fn lock_tower_has_few_names_at_its_root() {
    let source = read(&root().join("lock-tower/src/lib.rs"));
    let names = names(&source);
    assert!(names.contains(&"LockClient"), "{names:?}");
    assert!(names.len() <= MOST, "{} names: {names:?}", names.len());
}

#[test]
fn names_of_modules_do_not_count() {
    let source = "\npub use a::b;\npub use c::{D, e::F};\npub mod g {\n    pub use h::I;\n}\n";
    assert_eq!(names(source), ["D", "F"]);
}
