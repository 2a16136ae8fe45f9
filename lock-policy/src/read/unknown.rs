//! Errors for unknown names of fields.

use std::borrow::Cow;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

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
            "write `busy_detail` or `busy_fallback` in the rule".to_owned()
        }
        _ if table == Table::Answer && name == "status" => {
            "a status is a field of the rule, such as `lost_status = 500`".to_owned()
        }
        // A field of another table is misplaced and not misspelt: `path` is no `match`.
        near => match (elsewhere, near) {
            (Some(Table::Policy), _) if table == Table::Defaults => {
                "set it in each rule".to_owned()
            }
            (Some(other), _) => format!("it belongs to {}", other.title()),
            (None, Some(known)) => format!("did you mean `{known}`?"),
            (None, None) => {
                let known: Vec<_> =
                    table.fields().map(|field| format!("`{}`", field.name)).collect();
                format!("legal are {}", known.join(", "))
            }
        },
    };
    Diagnostic::new(key.span(), what).help(help)
}

/// Returns the fields that took the place of a table `on_busy`.
pub(crate) fn fields_of_busy(old: &DeTable<'_>) -> String {
    let fields = old.iter().map(|(key, value)| match value.get_ref() {
        DeValue::Integer(number) => format!("`busy_{} = {}`", key.get_ref(), number.as_str()),
        _ => format!("`busy_{} = ..`", key.get_ref()),
    });
    format!("its members are fields of the rule: {}", fields.collect::<Vec<_>>().join(", "))
}
