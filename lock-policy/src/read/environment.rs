//! Replaces `${VAR}` and `${VAR:-default}` in texts.

use std::ops::Range;

use super::spanned_text::Placed;
use crate::diagnostics::Diagnostic;

/// The source of variables, and the replacements made.
pub(crate) struct Environment<'e> {
    variable: &'e dyn Fn(&str) -> Option<String>,
    replaced: Vec<(Range<usize>, String)>,
}

impl<'e> Environment<'e> {
    pub(crate) fn new(variable: &'e dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable, replaced: Vec::new() }
    }

    /// Returns the text with its variables replaced. `$${` is a literal `${`.
    pub(crate) fn substitute(
        &mut self,
        text: &Placed,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Placed {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text.as_slice();
        while let Some(((c, place), behind)) = rest.split_first() {
            rest = match (c, behind) {
                ('$', [('$', _), ('{', brace), behind @ ..]) => {
                    out.push(('$', place.clone()));
                    out.push(('{', brace.clone()));
                    behind
                }
                ('$', [('{', _), inside @ ..]) => {
                    let end = inside.iter().position(|(c, _)| *c == '}');
                    let close = end.map_or(inside.last(), |end| inside.get(end));
                    let span = place.start..close.map_or(place.end, |(_, place)| place.end);
                    let word: String =
                        inside[..end.unwrap_or(inside.len())].iter().map(|(c, _)| c).collect();
                    let value = match end {
                        Some(_) => self.value(&word, &span),
                        None => Err(Diagnostic::new(span.clone(), "this `${` is not closed")
                            .help("write `${NAME}`, or `$${` for a literal `${`".to_owned())),
                    };
                    match value {
                        Ok(value) => out.extend(value.chars().map(|c| (c, span.clone()))),
                        Err(diagnostic) => diagnostics.push(diagnostic),
                    }
                    end.map_or(&[][..], |end| &inside[end + 1..])
                }
                _ => {
                    out.push((*c, place.clone()));
                    behind
                }
            };
        }
        out
    }

    fn value(&mut self, word: &str, span: &Range<usize>) -> Result<String, Diagnostic> {
        let (name, default) = match word.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (word, None),
        };
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_name {
            let what =
                format!("`{}` is not the name of an environment variable", name.escape_debug());
            let help = "write `${NAME}` or `${NAME:-default}`; for a placeholder of a key after a dollar \
                        sign, `$${name}`";
            return Err(Diagnostic::new(span.clone(), what).help(help.to_owned()));
        }
        // As in shells, an empty variable counts as unset.
        let set = (self.variable)(name).filter(|value| default.is_none() || !value.is_empty());
        let Some(value) = set.or(default.map(str::to_owned)) else {
            let what = format!("the environment variable `{name}` is not set");
            let help = format!("set it, or give a default: `${{{name}:-default}}`");
            return Err(Diagnostic::new(span.clone(), what).help(help));
        };
        self.replaced.push((span.clone(), value.clone()));
        Ok(value)
    }

    /// Returns the file's text with all replacements made so far.
    pub(crate) fn replace_in(mut self, text: &str) -> String {
        self.replaced.sort_by_key(|(span, _)| span.start);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (span, value) in self.replaced.iter().filter(|(span, _)| span.start <= span.end) {
            if span.start >= at {
                out.push_str(&text[at..span.start]);
                out.push_str(value);
                at = span.end;
            }
        }
        out.push_str(&text[at..]);
        out
    }
}
