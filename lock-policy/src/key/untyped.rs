//! Path parameters whose spelling decides which lock they name.

use lock_key::Placeholder;

use super::{source::Source, templates::KeyTemplates};

/// Path parameters of a key without a type. The handler may take `7` and `007` for one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untyped {
    /// The message.
    pub what: String,
    /// The correction.
    pub help: String,
}

impl KeyTemplates {
    /// Returns which path parameters have no type; `None` if all have.
    #[must_use]
    pub fn untyped(&self) -> Option<Untyped> {
        let mut names: Vec<String> = Vec::new();
        for placeholder in self.placeholders().filter(|placeholder| is_untyped(placeholder)) {
            let name = placeholder.name();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let first = names.first()?;
        let help = format!(
            "write `{{{first}:u64}}`, `{{{first}:i64}}`, `{{{first}:uuid}}` or `{{{first}:lower}}`, or \
             `{{{first}:text}}` if the handler compares it as text too"
        );
        let all: Vec<_> = names.iter().map(|name| format!("`{{{name}}}`")).collect();
        let are = if all.len() == 1 { "is" } else { "are" };
        let all = all.join(", ");
        let what = format!("{all} {are} compared as text: 7, 007 and +7 are three locks");
        Some(Untyped { what, help })
    }
}

/// Whether it is a path parameter without a type.
pub(crate) fn is_untyped(placeholder: &Placeholder) -> bool {
    !placeholder.is_typed && matches!(Source::of(placeholder), Some(Source::Path(_)))
}
