//! The code that is emitted if the attribute has an error.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

/// Emits the function as it was written, and the one error.
///
/// The function stays, so that its callers still compile and the error is the only one. Items that only
/// the lock would use must not cause warnings beside it.
pub(crate) fn expand(item: TokenStream, error: &Error) -> TokenStream {
    let error = error.to_compile_error();
    quote! {
        #error
        #[allow(unused)]
        #item
    }
}
