//! Files that are valid and lock less, or more, than they seem to. Each gives the warnings in its
//! `.stderr`, or none where that is empty. `LOCK_TOWER_OVERWRITE=1` writes those anew.

use crate::policy_file::files::{each_gives_its_stderr, files};

#[test]
fn every_suspicious_file_gives_its_expected_warnings() {
    each_gives_its_stderr("suspicious", |file| {
        let read = file.parse().unwrap_or_else(|errors| panic!("{errors}"));
        let warnings: Vec<_> = read.warnings().iter().map(ToString::to_string).collect();
        warnings.join("\n\n")
    });
}

#[test]
fn warnings_come_in_the_order_of_the_file() {
    for file in files("suspicious") {
        let read = file.parse().unwrap();
        let places: Vec<_> = read.warnings().iter().map(|it| (it.line, it.column)).collect();
        assert!(places.is_sorted(), "{}: {places:?}", file.name);
    }
}
