//! The attribute's list of kinds is that of the locks: a procedural macro cannot depend on their crate.

use lock_tower::Kind;

const LIST: &str = include_str!("../../../../lock-macros/src/kind.rs");

#[test]
fn the_kinds_are_those_of_the_locks() {
    let rows: Vec<_> = LIST.split("Kind { word: \"").skip(1).collect();
    assert_eq!(rows.len(), 7, "the list of lock-macros");
    for row in rows {
        let word = row.split('"').next().expect("a word");
        let kind: Kind = word.parse().expect(word);
        let (variant, readers) = (format!("{kind:?}"), kind.has_readers());
        let expected = format!("{word}\", variant: \"{variant}\", has_readers: {readers} }},");
        assert!(row.starts_with(&expected), "{row} is not {expected}");
    }
}
