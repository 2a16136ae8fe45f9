use lock_core::test_util::untrusted_input;

const NONCE: &str = "4711";
const CHANNEL: &str = "redisson_rwlock:{lock:k}";

/// Whatever a server answers is read, and is a grant only if it says so and carries the question's
/// nonce.
///
/// # Panics
///
/// When it is taken for one.
pub fn redis_replies(input: &[u8]) {
    untrusted_input::server_info(input);
    let Some(reply) = untrusted_input::reply(input, NONCE) else { return };
    if reply.answers {
        assert!(has(input, NONCE), "{}", input.escape_ascii());
    }
    if reply.grants {
        assert!(reply.answers && has(input, "GRANTED"), "{}", input.escape_ascii());
    }
}

/// The same replies are read however the bytes are cut, and each as the redis crate reads it.
///
/// # Panics
///
/// When others are read, or a part of a refused reply.
pub fn redis_streams(input: &[u8]) {
    let whole = untrusted_input::stream(input, usize::MAX);
    for size in [1, 2, 7] {
        assert_eq!(untrusted_input::stream(input, size), whole, "{}", input.escape_ascii());
    }
}

/// Every push of a server is read, and wakes only the subscribers of the channel that it names.
///
/// # Panics
///
/// When it wakes others.
pub fn redis_pushes(input: &[u8]) {
    if untrusted_input::push(input, CHANNEL) {
        assert!(has(input, CHANNEL), "{}", input.escape_ascii());
    }
}

fn has(input: &[u8], text: &str) -> bool {
    input.windows(text.len()).any(|part| part == text.as_bytes())
}
