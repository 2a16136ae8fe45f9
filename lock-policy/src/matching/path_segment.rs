//! Parses a segment of a route: the text between two slashes.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathSegment {
    Literal(String),
    /// A parameter: the text before it in the segment, and its name.
    Parameter(String, String),
    /// `{*name}`, only in the last place: everything below.
    Rest(String),
}

impl PathSegment {
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Parameter(_, name) | Self::Rest(name) => Some(name),
        }
    }
}

/// Parses a segment. An error has a description and a correction.
pub(crate) fn segment(text: &str, is_last: bool) -> Result<PathSegment, (String, String)> {
    let bad = |message: &str, help: String| Err((message.to_owned(), help));
    if let Some(name) = text.strip_prefix(':').filter(|name| !name.is_empty()) {
        return bad("`:` does not make a parameter", format!("write {{{name}}}"));
    }
    if let Some(name) = text.strip_prefix('*') {
        let name = if name.is_empty() { "rest" } else { name };
        return bad("`*` does not make a wildcard", format!("write {{*{name}}}"));
    }
    let (before, inside) = match split(text) {
        Ok(Some(split)) => split,
        Ok(None) => return Ok(PathSegment::Literal(text.replace("{{", "{").replace("}}", "}"))),
        Err([message, help]) => return bad(message, help.to_owned()),
    };
    let Some(name) = inside.strip_prefix('*') else {
        return match inside {
            "" => bad("this parameter has no name", "write {name}, such as {id}".to_owned()),
            name => Ok(PathSegment::Parameter(before, name.to_owned())),
        };
    };
    if name.is_empty() {
        return bad("this wildcard has no name", "write {*rest}".to_owned());
    }
    if !is_last || !before.is_empty() {
        let help = "a wildcard is the whole last segment of a path".to_owned();
        return bad("a wildcard cannot be used here", help);
    }
    Ok(PathSegment::Rest(name.to_owned()))
}

const ONE_BRACE: &str = "write {name}; a literal brace is doubled: {{ or }}";

/// Splits a segment into the text before the parameter, unescaped, and the content of its braces.
/// An error has a description and a correction.
fn split(text: &str) -> Result<Option<(String, &str)>, [&'static str; 2]> {
    let mut before = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("{{") || rest.starts_with("}}") {
            before.push(c);
            rest = &rest[2..];
        } else if c == '}' {
            return Err(["this `}` closes nothing", ONE_BRACE]);
        } else if c == '{' {
            let Some((inside, behind)) = rest[1..].split_once('}') else {
                return Err(["this `{` is not closed", ONE_BRACE]);
            };
            if !behind.is_empty() {
                return Err([
                    "nothing can follow a parameter in its segment",
                    "Axum has no such routes: take the whole segment as the parameter",
                ]);
            }
            return Ok(Some((before, inside)));
        } else {
            before.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(None)
}
