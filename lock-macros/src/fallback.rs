//! What is emitted when the attribute is wrong.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

/// The function as it was written, and the one error.
///
/// With the function there, its callers still compile, so the error stands alone. What only the
/// lock would have used must not be called unused beside it.
pub(crate) fn expand(item: TokenStream, error: &Error) -> TokenStream {
    let error = error.to_compile_error();
    quote! {
        #error
        #[allow(unused)]
        #item
    }
}
