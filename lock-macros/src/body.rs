//! The function's body as a future whose output is the function's declared return type.

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{ReturnType, Type, parse_quote};

use crate::item::FnItem;
use crate::names::Names;

/// Puts `async move { ... }` around the body, in which `return` and `?` keep their meaning.
pub(crate) fn pinned_body(item: &FnItem, names: &Names) -> TokenStream {
    let output = nameable(&item.sig.output);
    let result = names.local("__result");
    let mut body = Group::new(Delimiter::Brace, item.body.clone());
    body.set_span(item.brace.span.join());
    // An async block cannot declare its type, and `?` alone does not determine the error type. An
    // unreachable `return` ahead of all others does.
    quote! {
        async move {
            if let ::core::option::Option::Some(#result) = ::core::option::Option::None::<#output> {
                return #result;
            }
            #[allow(clippy::diverging_sub_expression, clippy::let_unit_value)]
            let #result: #output = #body;
            #[allow(unreachable_code)]
            #result
        }
    }
}

/// The return type, with `_` for each `impl Trait`, which cannot be named in a body.
fn nameable(output: &ReturnType) -> Type {
    match output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) => {
            let mut ty = (**ty).clone();
            EraseImplTrait.visit_type_mut(&mut ty);
            ty
        }
    }
}

struct EraseImplTrait;

impl VisitMut for EraseImplTrait {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if matches!(ty, Type::ImplTrait(_)) {
            *ty = parse_quote!(_);
        } else {
            visit_mut::visit_type_mut(self, ty);
        }
    }
}
