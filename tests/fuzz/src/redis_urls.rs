use lock_core::test_util::untrusted_input;

/// Replaces every `PW` of the input.
const PASSWORD: &str = "gehe1m4711";

/// Any text as a URL: text in the place of a password is never shown.
///
/// # Panics
///
/// When it is.
pub fn redis_urls(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let shown = untrusted_input::shown(&text.replace("PW", PASSWORD));
    // A fuzzer that watches comparisons finds the password by itself.
    let hidden = !address(text).contains("PW") && !text.contains(PASSWORD);
    assert!(!hidden || !shown.contains(PASSWORD), "{text:?}: {shown}");
}

/// The part that may be shown: behind the last @; of a socket its path, which may have one too.
fn address(text: &str) -> &str {
    let is_socket = text
        .split_once("://")
        .is_some_and(|(scheme, _)| scheme.to_ascii_lowercase().ends_with("unix"));
    if is_socket {
        let path = text.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        return path.map_or("", |(_, path)| path.split('?').next().unwrap_or_default());
    }
    text.rsplit_once('@').map_or(text, |(_, address)| address)
}
