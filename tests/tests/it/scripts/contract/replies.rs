//! Each reply of a script of the native wire has a test that shows it.

use std::collections::BTreeSet;

use lock_core::test_util::NATIVE_SCRIPTS;

use crate::scripts::native::SHOWN;

/// The replies in a script's header, in one line.
fn replies(script: &str, text: &str) -> String {
    // Functions that it uses come before it.
    let verb = script.strip_prefix("native/").unwrap();
    let begins = |line: &&str| {
        ["", "common/"].iter().any(|folder| line.starts_with(&format!("-- {folder}{verb}: ")))
    };
    let lines: Vec<_> = text.lines().collect();
    let begin = lines.iter().rposition(begins).expect("a header");
    let header = lines[begin..].iter().map_while(|line| line.strip_prefix("--"));
    let replies = header.skip_while(|line| !line.starts_with(" Returns "));
    let words: Vec<_> = replies.flat_map(str::split_whitespace).skip(1).collect();
    words.join(" ")
}

#[test]
fn each_has_a_test() {
    let scripts: Vec<_> = NATIVE_SCRIPTS.iter().map(|script| script.name).collect();
    assert_eq!(scripts.len(), SHOWN.len());
    for (name, shown) in SHOWN {
        let script = NATIVE_SCRIPTS.iter().find(|script| script.name == name).expect("a script");
        let mut left = replies(name, script.text);
        assert!(!left.is_empty(), "{name} has no replies");
        for (piece, _) in shown {
            assert!(left.contains(piece), "{name}: {piece:?} is not in its header: {left:?}");
            left = left.replacen(piece, "|", 1);
        }
        let is_said = |char: char| char.is_alphanumeric();
        assert!(!left.contains(is_said), "{name}: no test shows this: {left:?}");
        let tests: BTreeSet<_> = shown.iter().map(|(_, test)| *test as usize).collect();
        assert_eq!(tests.len(), shown.len(), "{name}: a test for each");
    }
}
