//! The guide's code is the code that is tested.

/// The pages that show Rust to copy.
const PAGES: [(&str, &str); 2] = [
    ("docs/migrating/set-nx.md", include_str!("../../../../docs/migrating/set-nx.md")),
    ("docs/migrating/rslock.md", include_str!("../../../../docs/migrating/rslock.md")),
];

/// The files that the pages quote, each name in a comment before the quotation.
const QUOTED: [(&str, &str); 4] = [
    (
        "tests/src/migrating/hand_rolled/old_lock.rs",
        include_str!("../../../src/migrating/hand_rolled/old_lock.rs"),
    ),
    (
        "tests/src/migrating/of_rslock/old_lock.rs",
        include_str!("../../../src/migrating/of_rslock/old_lock.rs"),
    ),
    ("tests/src/migrating/both.rs", include_str!("../../../src/migrating/both.rs")),
    ("tests/tests/it/migrating/usage.rs", include_str!("usage.rs")),
];

/// Copied whole; of the others the pages show parts.
const WHOLE: usize = 3;

#[test]
fn quotes_what_is_to_be_copied_whole() {
    for (name, text) in &QUOTED[..WHOLE] {
        let quote = format!("<!-- {name} -->\n```rust,ignore\n{text}```\n");
        let is_quoted = PAGES.iter().any(|(_, page)| page.contains(&quote));
        assert!(is_quoted, "a page of docs/migrating must quote {name} as it is:\n{quote}");
    }
}

#[test]
fn shows_no_rust_that_is_not_tested() {
    let mut shown = 0;
    for (page, text) in PAGES {
        let mut blocks = text.split("```rust,ignore\n");
        let mut before = blocks.next().unwrap();
        for block in blocks {
            let code = block.split("```\n").next().unwrap();
            let comment = before.trim_end().lines().last().unwrap_or_default();
            let file = QUOTED.iter().find(|(name, _)| comment == format!("<!-- {name} -->"));
            let (name, text) =
                file.unwrap_or_else(|| panic!("{page}: no file is named before:\n{code}"));
            assert!(text.contains(code), "{page}: not in {name}:\n{code}");
            before = block;
            shown += 1;
        }
    }
    assert!(shown >= QUOTED.len(), "only {shown} pieces of Rust were found");
}
