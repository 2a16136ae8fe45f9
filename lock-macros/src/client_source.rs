//! Brings the lock client into a handler, beside one of its arguments.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, PatType, Signature, Type, parse_quote};

use crate::names::Names;

#[derive(Clone, Copy)]
pub(crate) enum ClientSource {
    Layer,
    State,
}

impl ClientSource {
    /// Changes the arguments so that they bring the client, and returns the expression for it.
    ///
    /// `p: T` becomes `(handle, p): (Handle, T)`, which is an extractor when `T` is one. The
    /// number of arguments stays: `#[debug_handler]` above has generated a call with as many as
    /// it saw, and Axum allows at most sixteen.
    pub(crate) fn put_into(self, sig: &mut Signature, names: &Names) -> TokenStream {
        let handle = names.local("__lock_tower");
        let ty = match self {
            Self::Layer => names.path("LayerHandle"),
            Self::State => names.path("StateHandle"),
        };
        match (companion(sig), self) {
            (Some(argument), _) => {
                let pattern = &argument.pat;
                let own_ty = &argument.ty;
                // `#[instrument]` below records the bindings of a pattern, but not of one in parentheses,
                // so the handle stays out of the span's fields.
                *argument.pat = parse_quote! { ((#handle), #pattern) };
                *argument.ty = parse_quote! { (#ty, #own_ty) };
            }
            (None, Self::Layer) => {
                let ambient_handle = names.path("ambient_handle");
                return quote! { #ambient_handle() };
            }
            (None, Self::State) => sig.inputs.push(parse_quote! { #handle: #ty }),
        }
        quote! { #handle }
    }
}

/// Returns the argument that brings the client: the first that is not `State`, because
/// `#[debug_handler]` below learns the router's state from a `State` argument, and finds it only if its
/// pattern is unchanged.
fn companion(sig: &mut Signature) -> Option<&mut PatType> {
    let typed = |input: &FnArg| matches!(input, FnArg::Typed(_));
    let at = sig
        .inputs
        .iter()
        .position(|input| matches!(input, FnArg::Typed(argument) if !is_state(&argument.ty)))
        .or_else(|| sig.inputs.iter().position(typed))?;
    match &mut sig.inputs[at] {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    }
}

fn is_state(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "State"),
        _ => false,
    }
}
