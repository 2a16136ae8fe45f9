//! Converts texts and numbers to the types of their fields.

use std::{ops::Range, time::Duration};

use http::StatusCode;
use lock_key::{DurationError, MIN_LEASE, parse_duration};

use super::{enforce::enforce, spanned_text::Text, value::Value};
use crate::{
    diagnostics::{Diagnostic, closest},
    schema::ValueType,
};

pub(crate) fn of_text(name: &str, value_type: ValueType, text: Text) -> Result<Value, Diagnostic> {
    let diagnostic =
        |what: String, help: String| Err(Diagnostic::new(text.span.clone(), what).help(help));
    match value_type {
        ValueType::Text(_) if text.value.is_empty() => {
            diagnostic(format!("`{name}` is empty"), format!("it is {}", value_type.expected()))
        }
        ValueType::Text(_) => Ok(Value::Text(text)),
        ValueType::Word(words) | ValueType::WordOrTable(words, _) => {
            word(name, value_type, words, &text).map(Value::Word)
        }
        ValueType::Duration(least) => duration(name, least, &text).map(Value::Duration),
        ValueType::Enforce => enforce(&text.value).map(Value::Enforce).or_else(|help| {
            diagnostic(
                format!("\"{}\" is not a value of `{name}`", text.value.escape_debug()),
                help,
            )
        }),
        _ => diagnostic(
            format!("`{name}` cannot be a text"),
            format!("it is {}", value_type.expected()),
        ),
    }
}

/// Converts a number; `None` if the field takes no number.
pub(crate) fn of_number(
    name: &str,
    value_type: ValueType,
    number: Option<i128>,
    span: Range<usize>,
) -> Option<Result<Value, Diagnostic>> {
    let value = match value_type {
        ValueType::Version => number.filter(|number| *number == 1).map(|_| Value::Version),
        ValueType::Count => number.and_then(|n| usize::try_from(n).ok()).map(Value::Count),
        ValueType::Status(least) => number
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| (least..600).contains(number))
            .and_then(|number| StatusCode::from_u16(number).ok())
            .map(Value::Status),
        _ => return None,
    };
    Some(value.ok_or_else(|| {
        Diagnostic::new(span, format!("`{name}` cannot be this number"))
            .help(format!("it is {}", value_type.expected()))
    }))
}

pub(crate) fn word(
    name: &str,
    value_type: ValueType,
    words: &'static [&'static str],
    text: &Text,
) -> Result<&'static str, Diagnostic> {
    let value = text.value.as_str();
    if let Some(word) = words.iter().find(|word| **word == value) {
        return Ok(word);
    }
    let what = format!("\"{}\" is not a value of `{name}`", value.escape_debug());
    let same = words.iter().find(|word| word.eq_ignore_ascii_case(value)).copied();
    let help = match same.or_else(|| closest(value, words.iter().copied())) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("it is {}", value_type.expected()),
    };
    Err(Diagnostic::new(text.span.clone(), what).help(help))
}

fn duration(name: &str, least: Duration, text: &Text) -> Result<Duration, Diagnostic> {
    let diagnostic =
        |what: String, help: String| Err(Diagnostic::new(text.span.clone(), what).help(help));
    match parse_duration(&text.value) {
        Ok(duration) if duration < least => {
            let why = if least == MIN_LEASE { ": below that it cannot be kept up" } else { "" };
            diagnostic(
                format!("this `{name}` is too short"),
                format!("it is at least {}ms{why}", least.as_millis()),
            )
        }
        Ok(duration) => Ok(duration),
        Err(DurationError::TooLong) => diagnostic(
            format!("this `{name}` is too long"),
            "it is at most a year, 8760h".to_owned(),
        ),
        Err(_) => diagnostic(
            format!("\"{}\" is not a duration", text.value.escape_debug()),
            "write a whole number and a unit (ms, s, m or h), such as \"250ms\" or \"2s\""
                .to_owned(),
        ),
    }
}
