//! The number of crates that lock-tower adds to a service on Axum and Tokio.

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

/// With default features, and with the six crates of this workspace. The redis crate and
/// what it needs are 31 of them. Raise it only in a commit that says which crate is worth its build
/// in every service.
const MOST_ADDED: usize = 75;

const SERVICE: &str = r#"
[package]
name = "service"
edition = "2024"

[workspace]

[dependencies]
axum = "0.8"
tokio = { version = "1", features = ["full"] }
"#;

/// Returns the crates that a service with these dependencies builds for Linux, in the versions of
/// the workspace's lock file.
fn built(dependencies: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let service = tempfile::tempdir().expect("a directory");
    let write = |name, text: &str| fs::write(service.path().join(name), text).expect("written");
    fs::create_dir(service.path().join("src")).expect("a directory");
    write("src/lib.rs", "");
    write("Cargo.toml", dependencies);
    fs::copy(root.join("Cargo.lock"), service.path().join("Cargo.lock")).expect("copied");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu", "--format", "{p}"])
        .current_dir(service.path())
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("crates have names in UTF-8");
    // The name and the version, without the folder of a crate of this workspace.
    let package = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    tree.lines().filter(|line| !line.is_empty()).map(package).collect()
}

#[test]
fn a_service_builds_at_most_this_much_for_its_locks() {
    let lock_tower = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lock-tower");
    let with = built(&format!("{SERVICE}lock-tower = {{ path = {lock_tower:?} }}\n"));
    let added: Vec<_> = with.difference(&built(SERVICE)).cloned().collect();
    assert!(added.iter().any(|package| package.starts_with("lock-tower ")), "{added:?}");
    assert!(added.len() <= MOST_ADDED, "{} crates: {added:#?}", added.len());
}
