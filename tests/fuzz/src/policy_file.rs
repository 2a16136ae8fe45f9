use lock_tower::policy_file::PolicyFile;

/// A text is a policy file, or each thing that is wrong with it has its place.
///
/// # Panics
///
/// When the place is not in the text, or is not shown.
pub fn policy_file(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let environment = |name: &str| (name == "STAGE").then(|| "test".to_owned());
    let Err(errors) = PolicyFile::parse_with("locks.toml", text, environment) else { return };
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(errors.iter().count() > 0);
    for error in errors.iter() {
        assert!(!error.message.is_empty() && error.line <= lines.len(), "{error}");
        if let Some(line) = error.line.checked_sub(1) {
            // One beyond the end is where something is missing.
            let width = lines[line].chars().count() + 1;
            assert!((1..=width).contains(&error.column), "{error}");
        }
        for related in &error.related {
            assert!((1..=lines.len()).contains(&related.line), "{error}");
        }
    }
    assert!(errors.to_string().contains("locks.toml"));
}
