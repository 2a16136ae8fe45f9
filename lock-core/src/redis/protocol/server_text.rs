//! A server's error in words for an operator.

use redis::RedisError;

/// Words of Redis that it puts between quotation marks, as it does keys.
const QUOTED_WORDS: [&str; 1] = ["maxmemory"];

/// An error in one line, as [`cleaned`] has it.
pub(crate) fn reason(error: &RedisError) -> String {
    cleaned(&error.to_string())
}

/// The text of an error without the arguments that a server repeats: those of HELLO are user and
/// password, those of scripts are keys and owners. The script's hash and line, which mean nothing
/// to an operator, are removed too.
pub(crate) fn cleaned(text: &str) -> String {
    let text = text.split(", with args beginning with").next().unwrap_or_default();
    without_quotes(&without_script(text))
}

/// Redis 7 ends with `script: <hash>, on @user_script:<line>.`; before it begins with
/// `Error running script (call to f_<hash>): @user_script:<line>: `, and `@user_script: <line>:` may follow.
fn without_script(text: &str) -> String {
    let is_hash = |text: &str| {
        text.get(..40).is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let text = match text.split_once(" script: ") {
        Some((before, after)) if is_hash(after) => before,
        _ => text,
    };
    let text = match text.split_once(" (call to f_") {
        Some((before, after)) => {
            format!("{before}{}", after.split_once(')').map_or("", |(_, after)| after))
        }
        None => text.to_owned(),
    };
    let mut words = text.split(' ');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.trim_start_matches('@').strip_prefix("user_script:") {
            Some("") => drop(words.next()),
            Some(_) => {}
            None => kept.push(word),
        }
    }
    kept.join(" ")
}

/// Only names of commands stay between quotation marks. A key may have such marks itself, so everything up
/// to the last one goes.
fn without_quotes(text: &str) -> String {
    let mut from = 0;
    while let Some((open, mark)) = next_opening(text, from) {
        let content = &text[open + 1..];
        let Some(end) = content.find(mark) else { return format!("{}..", &text[..=open]) };
        let (word, after) = (&content[..end], &content[end + 1..]);
        let of_command = text[..open].ends_with("command ") || after.starts_with(" command");
        let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"|-_".contains(&byte));
        if !(is_word && (of_command || QUOTED_WORDS.contains(&word))) {
            let last = content.rfind(mark).unwrap_or(end);
            return format!("{}..{}", &text[..=open], &content[last..]);
        }
        from = open + end + 2;
    }
    text.to_owned()
}

/// The next quotation mark that opens a quotation: an apostrophe follows a letter. The redis crate
/// puts the code of an error between such marks at the beginning.
fn next_opening(text: &str, from: usize) -> Option<(usize, char)> {
    let marks = text[from..].char_indices().map(|(at, mark)| (from + at, mark));
    marks.filter(|(_, mark)| matches!(mark, '\'' | '`' | '"')).find(|(at, _)| {
        *at > 0
            && !text[..*at].ends_with(|before: char| before.is_alphanumeric())
            && !(text.starts_with('"') && text[1..].find('"') == Some(at - 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error as a server answers it.
    fn server_error(text: &str) -> RedisError {
        let reply = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).expect("a reply");
        reply.extract_error().expect_err("an error")
    }

    #[test]
    fn what_a_server_repeats_is_left_out() {
        for (text, expected) in [
            (
                "ERR unknown command 'SSUBSCRIBE', with args beginning with: 'lock:order:7' ",
                "ResponseError: unknown command 'SSUBSCRIBE'",
            ),
            (
                "NOPERM User x has no permissions to access the 'lock:order:7' key",
                "NoPerm: User x has no permissions to access the '..' key",
            ),
            (
                "NOPERM this user has no permissions to run the 'script|load' command",
                "NoPerm: this user has no permissions to run the 'script|load' command",
            ),
            ("ERR you can't use \"lock:it's\" there", "ResponseError: you can't use \"..\" there"),
            ("ERR no `a' b` or `c`", "ResponseError: no `..`"),
            ("ERR cut 'lock:order", "ResponseError: cut '.."),
            ("ERR run the 'get' command on 'k'", "ResponseError: run the 'get' command on '..'"),
            (
                "OOM command not allowed when used memory > 'maxmemory'. script: \
                 119a403bf6ba5fb34113de8b7b8bcd01bd0843eb, on @user_script:296.",
                "\"OOM\": command not allowed when used memory > 'maxmemory'.",
            ),
            (
                "ERR Error running script (call to f_119a403bf6ba5fb34113de8b7b8bcd01bd0843eb): \
                 @user_script:29: @user_script: 29: -OOM command not allowed",
                "ResponseError: Error running script: -OOM command not allowed",
            ),
            ("ERR the lock script: it failed", "ResponseError: the lock script: it failed"),
        ] {
            assert_eq!(reason(&server_error(text)), expected);
        }
    }

    #[test]
    fn any_text_is_cleaned() {
        for text in [
            "",
            "'",
            "ä'ö",
            " 'ä",
            "\"",
            "\"a",
            "`` ``",
            " script: ä",
            "(call to f_",
            "@user_script:",
        ] {
            let _ = cleaned(text);
        }
    }
}
