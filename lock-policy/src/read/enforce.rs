//! Parses `enforce`.

use std::fmt;

use crate::{diagnostics::closest, schema::ValueType, settings::Enforce};

impl fmt::Display for Enforce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Shadow => f.write_str("shadow"),
            Self::Off => f.write_str("off"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Parses `on`, `shadow`, `off` or a percentage. The error names the legal values.
pub(crate) fn enforce(text: &str) -> Result<Enforce, String> {
    match text {
        "on" => return Ok(Enforce::On),
        "shadow" => return Ok(Enforce::Shadow),
        "off" => return Ok(Enforce::Off),
        _ => {}
    }
    let percent = text.strip_suffix('%').filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    match percent.map(str::parse::<u8>) {
        Some(Ok(percent @ 0..=100)) => Ok(Enforce::Percent(percent)),
        Some(_) => Err("a percentage is a whole number from 0 to 100, such as \"25%\"".to_owned()),
        None => Err(match closest(text, ["on", "shadow", "off"]) {
            Some(word) => format!("did you mean \"{word}\"?"),
            None => format!("it is {}", ValueType::Enforce.expected()),
        }),
    }
}
