use std::convert::Infallible;

use lock_core::{LockKey, test_util::untrusted_input::slots};
use lock_key::{Template, check_braces};

/// Lines: a template, and values for its placeholders, twice. Other values give another key, and all names
/// of a lock are in one slot.
///
/// # Panics
///
/// When they do not.
pub fn keys(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let mut lines = text.split('\n');
    let Some(Ok(template)) = lines.next().map(Template::parse) else { return };
    let placeholders: Vec<_> = template.placeholders().collect();
    // A digest is made elsewhere.
    if placeholders.iter().any(|placeholder| placeholder.hash) {
        return;
    }
    let mut values = || -> Option<Vec<String>> {
        let canonical = |placeholder: &&lock_key::Placeholder| {
            Some(placeholder.canonical(lines.next()?).ok()?.into_owned())
        };
        placeholders.iter().map(canonical).collect()
    };
    let (Some(one), Some(other)) = (values(), values()) else { return };
    let (key, beside) = (render(&template, &one), render(&template, &other));
    if let (Some(key), Some(beside)) = (&key, &beside) {
        assert_eq!(one == other, key == beside, "{one:?} and {other:?}: {key} and {beside}");
    }
    for key in [key, beside].into_iter().flatten() {
        check_braces(&key).expect("values have no braces");
        let Ok(key) = LockKey::try_from(key) else { continue };
        for prefix in ["", "lock:"] {
            assert_eq!(slots(prefix, &key).len(), 1, "{prefix}{key}");
        }
    }
}

fn render(template: &Template, values: &[String]) -> Option<String> {
    let mut values = values.iter();
    let next =
        |_: &_| Ok::<_, Infallible>(values.next().map(String::as_str).unwrap_or_default().into());
    template.render(next).ok()
}
