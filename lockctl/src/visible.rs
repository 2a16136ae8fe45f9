//! Text that came from outside: from arguments, files and stores. It must control neither the
//! terminal nor the shell.

use std::fmt::Write;

use lock_core::__private::misleads;
use serde_json::Value;

pub(crate) fn visible(text: &str) -> String {
    lock_core::__private::visible(text).into_owned()
}

/// As [`visible`], for a text of several lines. The texts that are put into it are already visible;
/// this is for those that another library has put there.
pub(crate) fn visible_lines(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['\n', '\t']) {
        let (line, after) = rest.split_at(at);
        // A policy file with the line ends of Windows stays so in a diff.
        let ends = line.strip_suffix('\r').filter(|_| after.starts_with('\n'));
        shown += &visible(ends.unwrap_or(line));
        shown += if ends.is_some() { "\r" } else { "" };
        shown += &after[..1];
        rest = &after[1..];
    }
    shown + visible(rest).as_str()
}

/// Escapes in JSON what JSON allows and a terminal does not.
pub(crate) fn visible_json(document: &str) -> String {
    let mut shown = String::with_capacity(document.len());
    for c in document.chars() {
        // None of them is beyond U+FFFF. A line break separates values: in texts it is escaped.
        match c {
            '\n' => shown.push('\n'),
            c if misleads(c) => _ = write!(shown, "\\u{:04x}", u32::from(c)),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns the document as it is printed.
pub(crate) fn pretty(document: &Value) -> String {
    visible_json(&format!("{document:#}"))
}

/// Quotes an argument for a shell, which is given exactly this text and runs nothing of it. Only
/// with characters that cannot be shown does it need a shell that knows `$'..'`.
pub(crate) fn quoted(argument: &str) -> String {
    let options_end = if argument.starts_with('-') { "-- " } else { "" };
    if !argument.contains(misleads) {
        return format!("{options_end}'{}'", argument.replace('\'', r"'\''"));
    }
    let mut shown = format!("{options_end}$'");
    for c in argument.chars() {
        match c {
            '\'' | '\\' => shown.extend(['\\', c]),
            c if misleads(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    _ = write!(shown, "\\x{byte:02x}");
                }
            }
            c => shown.push(c),
        }
    }
    shown + "'"
}
