//! Parses the text between the braces of a placeholder: a path, a type, options.

use std::ops::Range;

use crate::template_error::{TemplateError, TemplateFault};
use crate::{MAX_VALUE_BYTES, Placeholder, PlaceholderType, normalize::normalize};

/// Parses the placeholder whose text, without the braces, is at `inside`.
pub(crate) fn placeholder(
    source: &str,
    inside: Range<usize>,
) -> Result<Placeholder, TemplateError> {
    let mut words = source[inside.clone()].split('|');
    let head = words.next().unwrap_or_default();
    let (path, ty) = match head.split_once(':') {
        Some((path, ty)) => (path, Some(ty)),
        None => (head, None),
    };
    if path.is_empty() {
        let whole = inside.start - 1..inside.end + 1;
        return Err(TemplateError::new(TemplateFault::EmptyPlaceholder, whole));
    }
    let span = inside.start..inside.start + path.len();
    let mut at = inside.start + head.len();
    let path = names(path, span.start)?;
    let is_typed = ty.is_some();
    let ty = match ty {
        None => PlaceholderType::Text,
        Some(word) => word.parse().map_err(|_| {
            // An empty type has no span: point at its colon.
            let start = if word.is_empty() { span.end } else { span.end + 1 };
            TemplateError::new(TemplateFault::UnknownType(word.to_owned()), start..at)
        })?,
    };
    let mut placeholder = Placeholder { path, ty, is_typed, default: None, hash: false, span };
    for word in words {
        // As with a type: the error of an empty option points at its bar.
        let start = if word.is_empty() { at } else { at + 1 };
        at += 1 + word.len();
        option(&mut placeholder, word).map_err(|fault| TemplateError::new(fault, start..at))?;
    }
    Ok(placeholder)
}

fn option(placeholder: &mut Placeholder, word: &str) -> Result<(), TemplateFault> {
    match word.split_once('=') {
        None if word == "hash" && placeholder.hash => Err(TemplateFault::OptionTwice("hash")),
        None if word == "hash" => {
            placeholder.hash = true;
            Ok(())
        }
        Some(("default", _)) if placeholder.default.is_some() => {
            Err(TemplateFault::OptionTwice("default"))
        }
        Some(("default", value)) if is_valid_default(placeholder.ty, value) => {
            placeholder.default = Some(value.to_owned());
            Ok(())
        }
        Some(("default", _)) => Err(TemplateFault::BadDefault(placeholder.ty)),
        _ => Err(TemplateFault::UnknownOption(word.to_owned())),
    }
}

fn is_valid_default(ty: PlaceholderType, value: &str) -> bool {
    (1..=MAX_VALUE_BYTES).contains(&value.len())
        && !value.contains(char::is_control)
        && normalize(ty, value).is_some()
}

/// Parses the words of a path that begins at byte `start`.
fn names(path: &str, start: usize) -> Result<Vec<String>, TemplateError> {
    let mut names = Vec::new();
    let mut at = start;
    for word in path.split('.') {
        let legal = if names.is_empty() {
            is_name(word)
        } else {
            (!word.starts_with('-') && is_name(&word.replace('-', "_"))) || is_index(word)
        };
        if !legal {
            // An empty word has no span: point at the whole path.
            let (word, span) = match word {
                "" => (path, start..start + path.len()),
                word => (word, at..at + word.len()),
            };
            return Err(TemplateError::new(TemplateFault::BadName(word.to_owned()), span));
        }
        at += word.len() + 1;
        names.push(word.to_owned());
    }
    Ok(names)
}

fn is_name(word: &str) -> bool {
    word != "_"
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns whether the word is a field of a tuple, as in Rust.
fn is_index(word: &str) -> bool {
    word.parse::<u32>().is_ok_and(|index| index.to_string() == word)
}
