//! Builds a rule's matcher from the values read.

use http::{HeaderName, HeaderValue, Method};

use crate::{
    diagnostics::Diagnostic,
    matching::{HeaderMatch, PathPattern, RouteMatch, host_name},
    read::{Fields, Text, Value},
};

pub(crate) fn route(found: &Fields, diagnostics: &mut Vec<Diagnostic>) -> RouteMatch {
    let methods = found.words("methods").unwrap_or_default();
    let path = found.text("path").and_then(|text| match PathPattern::parse(&text.value) {
        Ok(pattern) => Some(pattern),
        Err(bad) => {
            diagnostics.push(Diagnostic::new(text.part(bad.span), bad.message).help(bad.help));
            None
        }
    });
    let headers = found.get("header").map(|read| &read.value);
    let headers = match headers {
        Some(Value::Tables(tables)) => tables.as_slice(),
        _ => &[],
    };
    RouteMatch {
        methods: with_head(methods),
        path,
        host: found.text("host").and_then(|text| host(text, diagnostics)),
        headers: headers.iter().filter_map(|fields| header(fields, diagnostics)).collect(),
    }
}

/// Adds `HEAD` to `GET`: the same handler handles both.
fn with_head(names: &[&str]) -> Vec<Method> {
    let named = names.iter().filter_map(|name| Method::from_bytes(name.as_bytes()).ok());
    let mut methods: Vec<Method> = named.collect();
    if methods.contains(&Method::GET) && !methods.contains(&Method::HEAD) {
        methods.push(Method::HEAD);
    }
    methods
}

fn host(text: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let value = text.value.as_str();
    let is_address = value.starts_with('[') && value.ends_with(']');
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let help = if value.contains("://") {
        "write the name alone, without the scheme"
    } else if value.contains('/') {
        "write the name alone; a path belongs in `path`"
    } else if value.contains(':') && !is_address {
        "write the name without its port: every port matches"
    } else if value.contains('*') {
        "write one host; without `host` every host matches"
    } else if !value.is_ascii() {
        "write it as clients send it, in ASCII, such as \"xn--bcher-kva.example\""
    } else if is_address || value.chars().all(legal) {
        return Some(host_name(value).into_owned());
    } else {
        "a host is a name such as \"api.example.org\""
    };
    diagnostics
        .push(Diagnostic::new(text.span.clone(), "this is not a host name").help(help.to_owned()));
    None
}

fn header(fields: &Fields, diagnostics: &mut Vec<Diagnostic>) -> Option<HeaderMatch> {
    let name = header_name(fields.text("name")?, diagnostics)?;
    let value = fields.text("value");
    if let Some(text) = value
        && HeaderValue::from_str(&text.value).is_err()
    {
        let what = "a header cannot have this value";
        let help = "it is printable text".to_owned();
        diagnostics.push(Diagnostic::new(text.span.clone(), what).help(help));
        return None;
    }
    Some(HeaderMatch { name, value: value.map(|text| text.value.clone()) })
}

pub(crate) fn header_name(text: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(text.value.as_bytes());
    if name.is_err() {
        let what = format!("\"{}\" is not a header name", text.value.escape_debug());
        let help = "it is made of letters, digits and `-`, such as \"x-tier\"".to_owned();
        diagnostics.push(Diagnostic::new(text.span.clone(), what).help(help));
    }
    name.ok()
}
