//! Errors for unknown names of fields.

use std::borrow::Cow;

use toml::Spanned;

use crate::{
    diagnostics::{Diagnostic, closest},
    schema::Table,
};

pub(crate) fn unknown(table: Table, key: &Spanned<Cow<'_, str>>) -> Diagnostic {
    let name = key.get_ref();
    let what = format!("{} has no field `{}`", table.title(), name.escape_debug());
    let elsewhere = Table::ALL
        .into_iter()
        .find(|other| *other != table && other.fields().any(|field| field.name == name));
    let help = match closest(name, table.fields().map(|field| field.name)) {
        _ if table == Table::Answers && name == "busy" => {
            "write `on_busy = { .. }` in the rule".to_owned()
        }
        Some(known) => format!("did you mean `{known}`?"),
        None => match elsewhere {
            Some(Table::Policy) if table == Table::Defaults => "set it in each rule".to_owned(),
            Some(other) => format!("it belongs to {}", other.title()),
            None => {
                let known: Vec<_> =
                    table.fields().map(|field| format!("`{}`", field.name)).collect();
                format!("legal are {}", known.join(", "))
            }
        },
    };
    Diagnostic::new(key.span(), what).help(help)
}
