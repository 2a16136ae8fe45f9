use std::fs;

use lock_tower::policy_file::PolicyFile;

use crate::policy_file::files::files;

#[test]
fn every_valid_file_is_accepted() {
    let files = files("valid");
    assert!(files.len() >= 5);
    for file in files {
        let read = file.parse().unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(read.warnings(), [], "{}", file.name);
        assert_eq!(read.names().count(), file.text.matches("[[policy]]").count(), "{}", file.name);
    }
}

#[test]
fn the_version_is_that_of_the_text_and_its_environment() {
    let text = "version = 1\n[defaults]\nwait = \"${WAIT:-1s}\"\n";
    let read = |text: &str, wait: Option<&str>| {
        let wait = wait.map(str::to_owned);
        PolicyFile::parse_with("a", text, move |_| wait.clone()).unwrap().version().to_owned()
    };
    let version = read(text, None);
    assert_eq!(version.len(), 12);
    assert_eq!(version, read(text, Some("1s")), "it is the same text");
    assert_eq!(version, read(&text.replace("${WAIT:-1s}", "1s"), None));
    assert_ne!(version, read(text, Some("2s")));
    // As `printf '...' | sha256sum` has it.
    assert_eq!(read("version = 1\n", None), VERSION_OF_THE_SMALLEST);
}

const VERSION_OF_THE_SMALLEST: &str = "dbab12665d98";

#[test]
fn a_file_is_read_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.toml");
    fs::write(&path, "version = 1\n").unwrap();
    assert_eq!(PolicyFile::read(&path).unwrap().names().count(), 0);
}
