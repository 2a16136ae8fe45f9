//! What the attribute accepts and what it refuses, with the words of the refusal.
//!
//! Where an error stands inside a string, and the words of the compiler itself, differ from one
//! toolchain to the next, so the snapshots of the refusals hold for one of them. To write them
//! anew: `TRYBUILD=overwrite cargo test -p lock-macros --test it ui`.

use std::process::Command;

/// The toolchain that the snapshots were written with.
const SNAPSHOTS_OF: &str = "rustc 1.95.";

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if version.starts_with(SNAPSHOTS_OF) {
        cases.compile_fail("tests/ui/fail/*.rs");
    } else {
        println!(
            "NOT compared: the refusals' words, which hold for {SNAPSHOTS_OF}x; this is {version}"
        );
    }
}
