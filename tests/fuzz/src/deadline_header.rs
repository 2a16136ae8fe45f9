use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use lock_tower::testing::untrusted_input;

const NAME: HeaderName = HeaderName::from_static("x-ms");

/// Lines: as many headers. One with nothing but digits is a time, and no other.
///
/// # Panics
///
/// When it is not.
pub fn deadline_header(input: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(value) = HeaderValue::from_bytes(line) else { return };
        headers.append(NAME, value);
    }
    let reported = untrusted_input::deadline(&NAME, &headers);
    let text = String::from_utf8_lossy(input);
    let digits = text.trim_matches([' ', '\t']);
    let number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.then(|| digits.parse::<u64>().ok()).flatten();
    match (reported, number) {
        (Ok(time), number) => assert_eq!(time, number.map(Duration::from_millis), "{text:?}"),
        (Err(why), None) => assert!(why.contains("x-ms"), "{why}"),
        (Err(why), Some(_)) => panic!("{text:?}: {why}"),
    }
}
