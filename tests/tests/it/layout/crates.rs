//! What the crates of the workspace link, as `cargo tree` has it.

use std::{env, path::Path, process::Command};

/// The names of the crates that `package` links in its default features.
fn linked(package: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none"])
        .args(["--format", "{p}", "--package", package])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("crates have names in UTF-8");
    tree.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn assert_without(package: &str, without: &[&str]) {
    let linked = linked(package);
    assert!(linked.iter().any(|name| name == package), "{linked:?}");
    for name in without {
        assert!(!linked.iter().any(|linked| linked == name), "{package} links {name}");
    }
}

#[test]
fn lock_policy_links_neither_axum_nor_redis() {
    assert_without("lock-policy", &["axum", "redis", "lock-tower"]);
}

#[test]
fn lockctl_links_no_axum() {
    assert_without("lockctl", &["axum", "lock-tower"]);
}

#[test]
fn lock_core_knows_no_http() {
    assert_without("lock-core", &["http", "axum", "tower-service", "lock-policy"]);
}

/// It comes with the feature `zookeeper` alone.
#[test]
fn no_crate_links_zookeeper_by_default() {
    for package in ["lock-core", "lock-tower", "lockctl"] {
        assert_without(package, &["lock-zookeeper-client"]);
    }
}

/// A procedural macro is built for the host, before anything else can be: it stays small.
#[test]
fn the_attribute_needs_the_grammar_of_keys_alone() {
    assert_without("lock-macros", &["lock-core", "lock-policy", "lock-tower", "tokio"]);
}

#[test]
fn lock_key_has_no_dependencies() {
    assert_eq!(linked("lock-key"), ["lock-key"]);
}
