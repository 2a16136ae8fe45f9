//! Checksums of downloads.

use std::{fs, path::Path};

use lock_tests::check_sums;

/// The sum of `abc`, as FIPS 180-2 has it.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn a_file_that_differs_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let lib = directory.path().join("lib");
    let list = directory.path().join("jars.sha256");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("one.jar"), "abc").unwrap();
    let compare = |pinned: String| {
        fs::write(&list, pinned).unwrap();
        check_sums(&list, &lib)
    };
    assert_eq!(compare(format!("{ABC}  one.jar\n")), Ok(()));

    let begin = format!("the downloads differ from {}:\n", list.display());
    let other = ABC.replace('b', "0");
    assert_eq!(
        compare(format!("{other}  one.jar\n")),
        Err(format!("{begin}  one.jar: its sum is {ABC}, pinned is {other}"))
    );
    assert_eq!(
        compare(format!("{ABC}  two.jar\n")),
        Err(format!(
            "{begin}  one.jar: its sum is {ABC}, and it is not pinned\n  \
             two.jar: pinned, and not downloaded"
        ))
    );
    let missing = check_sums(Path::new("/no/list"), &lib).unwrap_err();
    assert!(missing.starts_with("/no/list: "), "{missing}");
}
