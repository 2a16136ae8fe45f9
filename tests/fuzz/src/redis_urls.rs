use lock_core::__private::strangers;

/// Stands for every `PW` of the input.
const PASSWORD: &str = "gehe1m4711";

/// Any text as a URL: what stands before an @, where passwords stand, is never shown.
///
/// # Panics
///
/// When it is.
pub fn redis_urls(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let shown = strangers::shown(&text.replace("PW", PASSWORD));
    // Behind the last @ it is a part of the address.
    let hidden = text.rsplit_once('@').is_some_and(|(_, address)| !address.contains("PW"));
    assert!(!hidden || !shown.contains(PASSWORD), "{text:?}: {shown}");
}
