//! The key option, with its placeholders resolved to expressions over the arguments.

use lock_key::{Placeholder, PlaceholderType, Segment, Template};
use proc_macro2::Span;
use syn::{Error, Ident, Index, LitStr, Member, Result};

use crate::bindings::Bindings;
use crate::key_list::KeyOption;
use crate::literal_span;
use crate::model::KeyLock;

/// A key, piece by piece.
pub(crate) struct Key {
    pub(crate) literal: LitStr,
    pub(crate) parts: Vec<KeyPiece>,
    /// Which lock it has; `None` for that of the whole attribute.
    pub(crate) own: Option<KeyLock>,
    template: Template,
}

pub(crate) enum KeyPiece {
    Text(String),
    Value(KeyValue),
}

/// The argument or field for a placeholder.
pub(crate) struct KeyValue {
    /// The text in the template, for messages at run time.
    pub(crate) placeholder: String,
    pub(crate) ty: PlaceholderType,
    pub(crate) argument: Ident,
    pub(crate) fields: Vec<Member>,
    /// The placeholder's words in the literal.
    pub(crate) span: Span,
}

impl Key {
    /// The names of its placeholders.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|piece| match piece {
            KeyPiece::Text(_) => None,
            KeyPiece::Value(value) => Some(value.placeholder.as_str()),
        })
    }

    /// Returns a key that both can be.
    pub(crate) fn common_key(&self, other: &Self) -> Option<String> {
        self.template.common_key(&other.template)
    }

    pub(crate) fn resolve(option: KeyOption, bindings: &Bindings) -> Result<Self> {
        let KeyOption { template: literal, own } = option;
        let template = Template::parse(&literal.value()).map_err(|error| {
            Error::new(literal_span::within(&literal, error.span()), error.to_string())
        })?;
        let parts = template
            .segments()
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => Ok(KeyPiece::Text(text.clone())),
                Segment::Placeholder(placeholder) => {
                    value(placeholder, &literal, bindings).map(KeyPiece::Value)
                }
            })
            .collect::<Result<_>>()?;
        Ok(Self { literal, parts, own, template })
    }
}

fn value(placeholder: &Placeholder, literal: &LitStr, bindings: &Bindings) -> Result<KeyValue> {
    let span = literal_span::within(literal, placeholder.span.clone());
    if placeholder.hash || placeholder.default.is_some() {
        return Err(Error::new(
            span,
            "`|hash` and `|default` are for policy files and layers: an argument is never missing, \
             and its hash can be an argument or a field itself",
        ));
    }
    let [word, fields @ ..] = placeholder.path.as_slice() else {
        return Err(Error::new(span, "BUG: a placeholder without a name"));
    };
    let Some(argument) = bindings.find(word) else {
        let start = placeholder.span.start;
        let word_span = literal_span::within(literal, start..start + word.len());
        return Err(bindings.missing(word, word_span));
    };
    // Uses the argument's own name, and the span of the placeholder.
    let mut argument = argument.clone();
    argument.set_span(argument.span().located_at(span));
    Ok(KeyValue {
        placeholder: placeholder.name(),
        ty: placeholder.ty,
        argument,
        fields: fields.iter().map(|field| member(field, span)).collect::<Result<_>>()?,
        span,
    })
}

fn member(field: &str, span: Span) -> Result<Member> {
    if let Ok(index) = field.parse() {
        return Ok(Member::Unnamed(Index { index, span }));
    }
    // A Rust keyword needs `r#`, which the template omits; four keywords cannot have it.
    let ident = match syn::parse_str::<Ident>(field) {
        Ok(_) => Ident::new(field, span),
        // These cannot be raw identifiers.
        Err(_) if field.contains('-') || matches!(field, "self" | "Self" | "super" | "crate") => {
            return Err(Error::new(span, format!("`{field}` cannot be the name of a field")));
        }
        Err(_) => Ident::new_raw(field, span),
    };
    Ok(Member::Named(ident))
}
