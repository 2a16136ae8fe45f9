//! The options that name the keys: `key = ".."`, `keys = ["..", ".."]` or `all(..)`.

use proc_macro2::Span;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitStr, Result, Token, bracketed};

use crate::all_option::AllOption;
use crate::model::KeyLock;

/// The value of `keys`. The elements are checked later, so that the error points at the one that is not
/// a string.
pub(crate) struct KeysOption {
    span: Span,
    elements: Punctuated<Expr, Token![,]>,
}

impl Parse for KeysOption {
    fn parse(input: ParseStream) -> Result<Self> {
        let content;
        let span = bracketed!(content in input).span.join();
        Ok(Self { span, elements: content.call(Punctuated::parse_terminated)? })
    }
}

/// The template of one key.
pub(crate) struct KeyOption {
    pub(crate) template: LitStr,
    /// Which lock it has; `None` for that of the whole attribute.
    pub(crate) own: Option<KeyLock>,
}

/// Returns all keys, which exactly one of the options must have set.
pub(crate) fn key_options(
    key: Option<LitStr>,
    keys: Option<KeysOption>,
    all: Option<AllOption>,
) -> Result<Vec<KeyOption>> {
    let alike = |template| KeyOption { template, own: None };
    match (key, keys, all) {
        (Some(key), None, None) => Ok(vec![alike(key)]),
        (None, Some(keys), None) => Ok(keys.templates()?.into_iter().map(alike).collect()),
        (None, None, Some(all)) => {
            let locks = all.locks.into_iter();
            Ok(locks.map(|one| KeyOption { template: one.template, own: Some(one.lock) }).collect())
        }
        (key, keys, Some(all)) => {
            let name = if key.is_some() { "key" } else { "keys" };
            let span = key.map(|key| key.span()).or(keys.map(|keys| keys.span));
            let text = format!("`{name}` and `all` are both given; put every lock into `all`");
            Err(Error::new(span.unwrap_or(all.span), text))
        }
        (Some(_), Some(keys), None) => {
            Err(Error::new(keys.span, "`key` and `keys` are both given; put every key into `keys`"))
        }
        (None, None, None) => Err(Error::new(
            Span::call_site(),
            "the lock needs a key, such as `#[distributed_lock(key = \"order:{id}\")]`",
        )),
    }
}

impl KeysOption {
    fn templates(self) -> Result<Vec<LitStr>> {
        if self.elements.is_empty() {
            return Err(Error::new(
                self.span,
                "`keys` is empty; name what is locked, such as `keys = [\"account:{from}\", \
                 \"account:{to}\"]`",
            ));
        }
        let mut templates: Vec<LitStr> = Vec::with_capacity(self.elements.len());
        for element in self.elements {
            let template: LitStr = syn::parse2(element.to_token_stream()).map_err(|_| {
                let expected = "each of the `keys` is a string, such as \"account:{from}\"";
                Error::new_spanned(element, expected)
            })?;
            if templates.iter().any(|known| known.value() == template.value()) {
                let twice = "this key is given twice; remove one";
                return Err(Error::new(template.span(), twice));
            }
            templates.push(template);
        }
        Ok(templates)
    }
}
