//! Each invalid file gives the errors in its `.stderr`. `LOCK_TOWER_OVERWRITE=1` writes those anew.

use crate::policy_file::files::{each_gives_its_stderr, files};

#[test]
fn every_invalid_file_gives_its_expected_errors() {
    assert!(files("invalid").len() >= 71);
    each_gives_its_stderr("invalid", |file| {
        file.parse().err().unwrap_or_else(|| panic!("{} is accepted", file.name)).to_string()
    });
}

#[test]
fn errors_come_in_the_order_of_the_file_with_their_places() {
    for file in files("invalid") {
        let errors = file.parse().unwrap_err();
        let places: Vec<_> = errors.iter().map(|error| (error.line, error.column)).collect();
        assert!(places.is_sorted(), "{}: {places:?}", file.name);
        let lines = file.text.lines().count();
        for error in errors.iter() {
            assert!((1..=lines + 1).contains(&error.line), "{}: {error}", file.name);
            assert!(error.column > 0, "{}: {error}", file.name);
        }
        let json = errors.to_json();
        let json = json.as_array().unwrap();
        assert_eq!(json.len(), errors.iter().count());
        assert_eq!(json[0]["file"], file.name);
        assert_eq!(json[0]["line"], places[0].0);
        assert_eq!(json[0]["message"], errors.iter().next().unwrap().message);
    }
}
