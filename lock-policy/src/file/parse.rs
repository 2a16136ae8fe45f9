//! Parses a text into a checked file.

use std::{string::FromUtf8Error, sync::Arc};

use toml::de::DeTable;

use crate::{
    diagnostics::{Diagnostic, PolicyErrors, Severity, SourceFile, closest, in_order},
    key::sha256,
    read::{Environment, Fields, Read, Reader},
    rule::{
        CheckedFile, RequestBudget, build, common_keys, fair_reads, inherited_read, keys,
        not_enforced, replace, routes, slow_clients, validate,
    },
    schema::Table,
};

pub(crate) fn parse(
    name: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<CheckedFile, PolicyErrors> {
    let source = SourceFile::new(name, text);
    let (toml, errors) = DeTable::parse_recoverable(text);
    // Values that the parser recovers from broken text are not checked: their errors would mislead.
    let syntax = errors.iter().map(|error| {
        let span = error.span().unwrap_or(0..0);
        Diagnostic::new(span, format!("this is not valid TOML: {}", error.message()))
    });
    if let Some(errors) = PolicyErrors::of(&source, syntax.collect()) {
        return Err(errors);
    }
    let environment = Environment::new(variable);
    let mut reader = Reader { source: &source, environment, diagnostics: Vec::new() };
    let file = reader.table(Table::File, toml.get_ref(), 0..0);
    let Reader { environment, mut diagnostics, .. } = reader;

    let request = request(file.table("request"), &mut diagnostics);
    let defaults = file.table("defaults");
    if let Some(defaults) = defaults {
        replace::not_by_default(defaults, &mut diagnostics);
    }
    let policies = file.tables("policy");
    if policies.is_empty() && (file.get("policy").is_some() || !file.written.contains(&"policy")) {
        diagnostics.push(
            Diagnostic::warning(0..0, "the file has no rule, so no request takes a lock")
                .help("add a [[policy]], or remove the file".to_owned()),
        );
    }
    let mut found = Vec::new();
    for fields in policies {
        validate::rule(fields, defaults, file.table("request"), &mut diagnostics);
        let rule = build::rule(fields, defaults, &source, &mut diagnostics);
        found.extend(rule.map(|rule| (rule, fields)));
    }
    validate::names(policies, &mut diagnostics);
    let allow_change = allow_change(&file, policies, &mut diagnostics);
    validate::rules(&found, &mut diagnostics);
    common_keys::check(&found, defaults, &mut diagnostics);
    for (rule, fields) in &found {
        keys::have_types(rule, fields, &mut diagnostics);
        inherited_read::check(rule, fields, defaults, &mut diagnostics);
        fair_reads::check(rule, fields, defaults, &mut diagnostics);
        slow_clients::check(rule, fields, defaults, &mut diagnostics);
        not_enforced::check(rule, fields, defaults, &mut diagnostics);
    }
    let (errors, warnings): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
    if let Some(errors) = PolicyErrors::of(&source, errors) {
        return Err(errors);
    }
    let digest = sha256(&environment.replace_in(text));
    Ok(CheckedFile {
        name: Arc::clone(&source.name),
        version: digest[..12].to_owned(),
        request,
        allow_change,
        warnings: in_order(&source, warnings),
        rules: found.into_iter().map(|(rule, _)| rule).collect(),
    })
}

fn request(fields: Option<&Fields>, diagnostics: &mut Vec<Diagnostic>) -> RequestBudget {
    let Some(fields) = fields else {
        return RequestBudget::default();
    };
    RequestBudget {
        deadline: fields.get("deadline").and_then(Read::duration),
        header: fields
            .text("deadline_header")
            .and_then(|text| routes::header_name(text, diagnostics)),
    }
}

/// Returns the names in `allow_change`, each of which must be a rule's name.
fn allow_change(
    file: &Fields,
    policies: &[Fields],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let known: Vec<&str> =
        policies.iter().filter_map(|fields| Some(&*fields.text("name")?.value)).collect();
    let allowed = file.texts("allow_change").unwrap_or_default();
    for name in allowed.iter().filter(|name| !known.contains(&&*name.value)) {
        let help = closest(&name.value, known.iter().copied());
        diagnostics.push(
            Diagnostic::new(name.span.clone(), format!("the file has no rule `{}`", name.value))
                .help(help.map(|known| format!("did you mean `{known}`?"))),
        );
    }
    allowed.iter().map(|name| name.value.to_string()).collect()
}

pub(crate) fn not_utf8(name: &str, error: &FromUtf8Error) -> PolicyErrors {
    let at = error.utf8_error().valid_up_to();
    let source = SourceFile::new(name, &String::from_utf8_lossy(error.as_bytes()));
    let diagnostic =
        Diagnostic::new(at..at + '\u{FFFD}'.len_utf8(), "the file is not valid UTF-8 from here on")
            .help("save it as UTF-8".to_owned());
    PolicyErrors::of(&source, vec![diagnostic]).expect("BUG: one diagnostic is one error")
}
