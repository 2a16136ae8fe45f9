//! The names that generated code uses. None of them can collide with a name of the user's.

use proc_macro2::{Ident, Span, TokenStream};
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
        self.path_at(item, self.span)
    }

    /// An item of the library, for errors that belong to `place`.
    pub(crate) fn path_at(&self, item: &str, place: Span) -> TokenStream {
        let span = self.span.located_at(place);
        let krate = &self.krate;
        let item = Ident::new(item, span);
        quote_spanned! {span=> #krate::__private::#item }
    }

    /// A variable of generated code.
    pub(crate) fn local(&self, name: &str) -> Ident {
        Ident::new(name, self.span)
    }
}
