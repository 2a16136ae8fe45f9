//! The attribute of lock-tower: [`macro@distributed_lock`].
//!
//! Services use it through `lock_tower`, which re-exports it and has what the generated code calls.
//! From the outside in: `args` parses the options, and `item` the function without its body. Both
//! give a `model`, in which every placeholder of the key is an argument. `validate` checks its rules,
//! and `expand` generates the function that the compiler sees. An error on the way becomes one
//! compiler error (`error_output`).

use proc_macro::TokenStream;

mod all_option;
mod args;
mod bindings;
mod body;
mod client_source;
mod document;
mod duration;
mod error_output;
mod expand;
mod item;
mod key;
mod key_list;
mod kind;
mod literal_span;
mod model;
mod names;
mod once_per;
mod permits;
mod principal_limit;
mod spec;
mod statuses;
mod suggest;
mod validate;

// Its examples need lock-tower, which has them among its tests.
#[cfg_attr(not(doctest), doc = include_str!("distributed_lock.md"))]
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    let original = item.clone();
    locked(args, item).unwrap_or_else(|error| error_output::expand(original.into(), &error).into())
}

/// The text of a document, for the guides of lock-tower. Not for services.
#[doc(hidden)]
#[proc_macro]
pub fn document(name: TokenStream) -> TokenStream {
    let text = syn::parse(name).and_then(|name| document::read(&name));
    let text = text.map(|text| quote::quote!(#text));
    text.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn locked(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let item = syn::parse(item)?;
    let args = syn::parse(args)?;
    let locked = model::LockedFn::new(args, item)?;
    locked.validate()?;
    Ok(expand::expand(locked).into())
}
