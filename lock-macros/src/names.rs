//! The names that generated code uses. None of them can collide with a name of the user's.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::Path;

pub(crate) struct Names {
    krate: Path,
    /// Hygiene: locals of generated code are invisible to the body, and those of the body to it.
    pub(crate) span: Span,
}

impl Names {
    pub(crate) fn new(krate: &Path) -> Self {
        Self { krate: krate.clone(), span: Span::mixed_site() }
    }

    /// An item of the library.
    pub(crate) fn path(&self, item: &str) -> TokenStream {
        let (span, krate) = (self.span, &self.krate);
        let item = Ident::new(item, span);
        quote_spanned! {span=> #krate::__private::#item }
    }

    /// An item of the library, for errors that belong to `place`.
    pub(crate) fn path_at(&self, item: &str, place: Span) -> TokenStream {
        // Each token of it: the compiler joins their places.
        let located = |mut token: TokenTree| {
            token.set_span(token.span().located_at(place));
            token
        };
        self.path(item).into_iter().map(located).collect()
    }

    /// A variable of generated code.
    pub(crate) fn local(&self, name: &str) -> Ident {
        Ident::new(name, self.span)
    }
}
