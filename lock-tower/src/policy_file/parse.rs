//! From a text to a checked file.

use std::{string::FromUtf8Error, sync::Arc};

use lock_key::closest;
use sha2::{Digest, Sha256};
use toml::de::DeTable;

use super::{
    Checked, RequestBudget, checks,
    environment::Environment,
    error::PolicyErrors,
    fault::Fault,
    fields::Table,
    page::Page,
    reader::Reader,
    routes, rules,
    value::{Fields, Read},
};

pub(super) fn parse(
    name: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Checked, PolicyErrors> {
    let page = Page::new(name, text);
    let (toml, errors) = DeTable::parse_recoverable(text);
    // What a parser makes of broken text is not worth telling the faults of.
    let syntax = errors.iter().map(|error| {
        let span = error.span().unwrap_or(0..0);
        Fault::new(span, format!("this is no TOML: {}", error.message()))
    });
    if let Some(errors) = PolicyErrors::of(&page, syntax.collect()) {
        return Err(errors);
    }
    let environment = Environment::new(variable);
    let mut reader = Reader { page: &page, environment, faults: Vec::new() };
    let file = reader.table(Table::File, toml.get_ref(), 0..0);
    let Reader { environment, mut faults, .. } = reader;

    let request = request(file.table("request"), &mut faults);
    let defaults = file.table("defaults");
    let policies = file.tables("policy");
    let mut found = Vec::new();
    for fields in policies {
        checks::rule(fields, defaults, file.table("request"), &mut faults);
        let rule = rules::rule(fields, defaults, &page, &mut faults);
        found.extend(rule.map(|rule| (rule, fields)));
    }
    checks::names(policies, &mut faults);
    let allow_change = allow_change(&file, policies, &mut faults);
    checks::rules(&found, &mut faults);
    if let Some(errors) = PolicyErrors::of(&page, faults) {
        return Err(errors);
    }
    let digest = format!("{:x}", Sha256::digest(environment.replace_in(text)));
    Ok(Checked {
        name: Arc::clone(&page.name),
        version: digest[..12].to_owned(),
        request,
        allow_change,
        rules: found.into_iter().map(|(rule, _)| rule).collect(),
    })
}

fn request(fields: Option<&Fields>, faults: &mut Vec<Fault>) -> RequestBudget {
    let Some(fields) = fields else {
        return RequestBudget::default();
    };
    RequestBudget {
        deadline: fields.get("deadline").and_then(Read::duration),
        header: fields.text("deadline_header").and_then(|text| routes::header_name(text, faults)),
    }
}

/// Names that are allowed to change what they lock by: each is one of the file's.
fn allow_change(file: &Fields, policies: &[Fields], faults: &mut Vec<Fault>) -> Vec<String> {
    let known: Vec<&str> =
        policies.iter().filter_map(|fields| Some(&*fields.text("name")?.value)).collect();
    let allowed = file.texts("allow_change").unwrap_or_default();
    for name in allowed.iter().filter(|name| !known.contains(&&*name.value)) {
        let help = closest(&name.value, known.iter().copied());
        faults.push(
            Fault::new(name.span.clone(), format!("the file has no rule `{}`", name.value))
                .help(help.map(|known| format!("did you mean `{known}`?"))),
        );
    }
    allowed.iter().map(|name| name.value.to_string()).collect()
}

pub(super) fn not_utf8(name: &str, error: &FromUtf8Error) -> PolicyErrors {
    let at = error.utf8_error().valid_up_to();
    let page = Page::new(name, &String::from_utf8_lossy(error.as_bytes()));
    let fault = Fault::new(at..at + '\u{FFFD}'.len_utf8(), "the file is no UTF-8 from here on")
        .help("save it as UTF-8".to_owned());
    PolicyErrors::of(&page, vec![fault]).expect("BUG: one fault is one error")
}
