//! The options that name the keys: `key = ".."` or `keys = ["..", ".."]`.

use proc_macro2::Span;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitStr, Result, Token, bracketed};

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

/// Returns the templates of all keys, which exactly one of the options must have set.
pub(crate) fn templates(key: Option<LitStr>, keys: Option<KeysOption>) -> Result<Vec<LitStr>> {
    match (key, keys) {
        (Some(key), None) => Ok(vec![key]),
        (None, Some(keys)) => keys.templates(),
        (Some(_), Some(keys)) => {
            Err(Error::new(keys.span, "`key` and `keys` are both given; put every key into `keys`"))
        }
        (None, None) => Err(Error::new(
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
