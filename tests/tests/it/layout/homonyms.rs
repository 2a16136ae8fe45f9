//! One name has one meaning: a type's name appears once in the product crates, unless ARCHITECTURE.md
//! lists it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::harness::documents::{files, read, root};

const CRATES: [&str; 9] = [
    "lock-core",
    "lock-key",
    "lock-macros",
    "lock-policy",
    "lock-sqlx",
    "lock-store",
    "lock-tower",
    "lock-zookeeper",
    "lockctl",
];
/// Homonyms that may be listed.
const MOST: usize = 10;
/// The heading above their table.
const HEADING: &str = "\n## Names with two meanings\n";

#[test]
fn a_name_has_one_meaning_or_is_listed() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in CRATES.iter().flat_map(|name| files(&root().join(name).join("src"), "rs")) {
        if is_test(&path) {
            continue;
        }
        let file = path.strip_prefix(root()).expect("below the root").display().to_string();
        for name in types(&read(&path)) {
            places.entry(name.to_owned()).or_default().insert(file.clone());
        }
    }
    assert!(places.len() > 500, "{} types", places.len());
    places.retain(|_, files| files.len() > 1);
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let listed = listed(&architecture);
    let unlisted: Vec<_> = places.iter().filter(|(name, _)| !listed.contains(&***name)).collect();
    assert!(unlisted.is_empty(), "rename one, or list it in ARCHITECTURE.md: {unlisted:#?}");
    let unique: Vec<_> = listed.iter().filter(|name| !places.contains_key(**name)).collect();
    assert!(unique.is_empty(), "listed in ARCHITECTURE.md, but unique by now: {unique:?}");
    assert!(listed.len() <= MOST, "{} homonyms: {listed:?}", listed.len());
}

fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_folder = path.components().any(|part| part.as_os_str() == "test_util");
    is_folder || name.ends_with("tests.rs") || name == "fake_server.rs"
}

/// The types that a file declares in its module and in modules inside the file, before its tests.
fn types(source: &str) -> Vec<&str> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let (mut found, mut in_module) = (Vec::new(), false);
    for line in code.lines() {
        let item = match line.strip_prefix("    ") {
            Some(inner) if in_module => inner,
            _ => line,
        };
        let public = item.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
            Some(scope) => scope.split_once(')').map_or(rest, |(_, rest)| rest),
            None => rest,
        });
        let item = public.map_or(item, str::trim_start);
        if line.starts_with('}') {
            in_module = false;
        } else if item.starts_with("mod ") && item.ends_with('{') {
            in_module = true;
        } else if let Some(("struct" | "enum" | "trait" | "type", rest)) = item.split_once(' ') {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            found.push(&rest[..end.unwrap_or(rest.len())]);
        }
    }
    found
}

/// The names in the first column of the table.
fn listed(architecture: &str) -> BTreeSet<&str> {
    let section = architecture.split(HEADING).nth(1).expect("a section of ARCHITECTURE.md");
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn types_are_found_at_the_level_of_modules() {
    let source = "struct A;\npub enum B<T> {\n    struct,\n}\npub(crate) type C = D;\n\
                  fn f() {\n    struct Inside;\n}\nmod with {\n    pub(super) struct E {\n    }\n\
                  \x20   fn f() {\n        struct Inside;\n    }\n}\nimpl F for A {\n    type G = H;\n}\n\
                  pub trait I: J {}\n#[cfg(test)]\nmod tests {\n    struct K;\n}\n";
    assert_eq!(types(source), ["A", "B", "C", "E", "I"]);
    let table = "\n## Names with two meanings\n\nText `a`.\n\n| name | why |\n|---|---|\n\
                 | `L`, `M` | `n` |\n\n## Next\n\n| `O` | |\n";
    assert_eq!(listed(table), BTreeSet::from(["L", "M"]));
}
