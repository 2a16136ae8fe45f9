//! The function under the attribute, its body unread.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{AttrStyle, Attribute, Error, Result, Signature, Token, Visibility, braced, token};

/// A function with a body.
///
/// The body stays tokens: the compiler reports errors in it, and an editor may expand the attribute
/// while the body is incomplete.
pub(crate) struct FnItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) brace: token::Brace,
    pub(crate) body: TokenStream,
}

impl Parse for FnItem {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig: Signature = input.parse().map_err(|_| no_function())?;
        if input.peek(Token![;]) {
            return Err(Error::new_spanned(
                sig,
                "this function has no body to run under the lock; put the attribute on the \
                 function that implements it",
            ));
        }
        let content;
        let brace = braced!(content in input);
        // The body moves into a block that cannot have inner attributes.
        attrs.extend(content.call(Attribute::parse_inner)?.into_iter().map(outer));
        Ok(Self { attrs, vis, sig, brace, body: content.parse()? })
    }
}

fn no_function() -> Error {
    Error::new(Span::call_site(), "`#[distributed_lock]` belongs on an async function")
}

fn outer(attribute: Attribute) -> Attribute {
    Attribute { style: AttrStyle::Outer, ..attribute }
}
