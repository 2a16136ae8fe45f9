//! Files that never become text.

use std::fs;

use lock_tower::policy_file::{PolicyError, PolicyFile};

fn only_error(bytes: &[u8]) -> PolicyError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.toml");
    fs::write(&path, bytes).unwrap();
    let errors = PolicyFile::read(&path).unwrap_err();
    assert_eq!(errors.iter().count(), 1, "{errors}");
    errors.iter().next().unwrap().clone()
}

#[test]
fn a_file_that_is_not_there() {
    let errors = PolicyFile::read("no/such/locks.toml").unwrap_err();
    let text = errors.to_string();
    assert!(text.starts_with("no/such/locks.toml: error: the file cannot be read: "), "{text}");
    assert_eq!(errors.iter().next().unwrap().line, 0);
}

#[test]
fn a_file_that_is_no_utf8() {
    let error = only_error(b"version = 1\n# gr\xf6\xdfe\n");
    assert_eq!((error.line, error.column), (2, 5), "{error}");
    assert!(error.message.contains("UTF-8"), "{error}");
    assert!(error.to_string().ends_with(" = help: save it as UTF-8"), "{error}");
}

#[test]
fn a_file_of_more_than_a_mebibyte() {
    let mut text = b"version = 1\n#".to_vec();
    text.resize(1024 * 1024, b'x');
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.toml");
    fs::write(&path, &text).unwrap();
    assert!(PolicyFile::read(&path).is_ok());

    text.push(b'x');
    let error = only_error(&text);
    assert!(error.message.contains("too large"), "{error}");
    let device = PolicyFile::read("/dev/zero").unwrap_err().to_string();
    assert!(device.contains("too large"), "{device}");
    let text = String::from_utf8(text).unwrap();
    assert!(PolicyFile::parse("locks.toml", &text).unwrap_err().to_string().contains("1 MiB"));
}
