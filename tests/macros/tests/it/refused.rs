//! Uses that the attribute refuses, with the words of the refusal.
//!
//! The place of an error inside a string, and the words of the compiler itself, differ from one
//! toolchain to the next, so the snapshots hold for one of them. To write them anew:
//! `TRYBUILD=overwrite cargo test -p lock-macros-tests --test it refused`.
//!
//! trybuild checks all files of a test in one call of cargo, unless one of them must compile: then it
//! builds and links each separately. So what is accepted is in [`accepted`](crate::accepted).

use std::process::Command;

/// The toolchain that the snapshots were written with.
const SNAPSHOTS_OF: &str = "rustc 1.95.";

#[test]
fn refusals_have_the_words_of_their_snapshots() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.starts_with(SNAPSHOTS_OF) {
        println!("NOT compared: the words hold for {SNAPSHOTS_OF}x; this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}
