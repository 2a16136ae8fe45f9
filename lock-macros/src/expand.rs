//! The function that replaces the attributed one: its arguments, a key, one call.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ReturnType, Signature, parse_quote};

use crate::body::pinned_body;
use crate::client_source::ClientSource;
use crate::model::{Client, LockedFn};
use crate::names::Names;
use crate::spec::{principal, spec};

pub(crate) fn expand(locked: LockedFn) -> TokenStream {
    let names = Names::new(&locked.krate);
    let body = pinned_body(&locked.item, &names);
    let function = locked.item.sig.ident.clone();
    let setup = spec(&locked.lock, &locked.statuses, &function, &names);
    let principal = principal(&locked.lock, &names);
    let mut item = locked.item;
    let call = match locked.client {
        Client::Layer => handler(&mut item.sig, ClientSource::Layer, &principal, &body, &names),
        Client::State => handler(&mut item.sig, ClientSource::State, &principal, &body, &names),
        Client::Given(client) => {
            let output = &item.sig.output;
            let call = match &locked.once_per {
                Some(once_per) => Call::OncePer(once_per.expression(&names)),
                None if locked.lock.skips_if_busy => Call::SkippedIfBusy,
                None => Call::Always,
            };
            function_call(output, &client, &call, &body, &names)
        }
    };

    let attrs = &item.attrs;
    let vis = &item.vis;
    let sig = &item.sig;
    let mut block = Group::new(Delimiter::Brace, quote! { #setup #call });
    block.set_span(item.brace.span.join());
    quote! {
        #(#attrs)*
        #vis #sig #block
    }
}

/// A handler returns the response of its body, or the one for a lock that was not acquired.
fn handler(
    sig: &mut Signature,
    source: ClientSource,
    principal: &TokenStream,
    body: &TokenStream,
    names: &Names,
) -> TokenStream {
    let handle = source.put_into(sig, names);
    // The error for a return type that is not a response points at that type.
    let output_span = names.span.located_at(output_span(&sig.output));
    let run_handler = names.path_at("run_handler", output_span);
    let response = names.path("Response");
    sig.output = ReturnType::Type(parse_quote!(->), Box::new(parse_quote!(#response)));
    let [lock, keys] = ["__lock", "__keys"].map(|name| names.local(name));
    quote_spanned! {output_span=> #run_handler(#handle, #lock, #keys, #principal, #body).await }
}

/// When the body of a function runs.
enum Call {
    Always,
    SkippedIfBusy,
    /// Once per slot: the expression for the slots.
    OncePer(TokenStream),
}

/// Any other function returns the value of its body, or the lock's error in its own return type.
fn function_call(
    output: &ReturnType,
    client: &Expr,
    call: &Call,
    body: &TokenStream,
    names: &Names,
) -> TokenStream {
    let lock_client = names.path("LockClient");
    let local_client = names.local("__client");
    let [lock, keys] = ["__lock", "__keys"].map(|name| names.local(name));
    let [result, error] = ["__result", "__error"].map(|name| names.local(name));
    // The error for a return type that cannot report a lock's error points at that type.
    let not_finished = names.path_at("not_finished", output_span(output));
    let skipped = names.path_at("skipped", output_span(output));
    let output_span = names.span.located_at(output_span(output));
    let not_finished = quote_spanned! {output_span=> #not_finished(#error).await };
    let skipped = quote_spanned! {output_span=> return #skipped() };
    let client_span = names.span.located_at(client.span());
    let client = quote_spanned! {client_span=> &(#client) };
    let run = names.path(if matches!(call, Call::OncePer(_)) { "run_once_per" } else { "run" });
    let (slots, done, is_skipped) = match call {
        Call::Always => (None, quote! { #result }, None),
        Call::SkippedIfBusy => {
            let is_busy = names.path("is_busy");
            let is_busy = quote! { ::core::result::Result::Err(#error) if #is_busy(&#error) };
            (None, quote! { #result }, Some(is_busy))
        }
        Call::OncePer(slots) => {
            let not_run = quote! { ::core::result::Result::Ok(::core::option::Option::None) };
            let done = quote! { ::core::option::Option::Some(#result) };
            (Some(quote! { #slots, }), done, Some(not_run))
        }
    };
    let skip = is_skipped.map(|is_skipped| quote! { #is_skipped => #skipped, });
    // The error leaves the `match` before the `.await`: beside a result that is not `Send`, the whole future
    // would not be. The client is cloned first, because it may be a part of an argument that the body moves.
    quote! {
        let #local_client = <#lock_client as ::core::clone::Clone>::clone(#client);
        let #error = match #run(&#local_client, #lock, #slots #keys, #body).await {
            ::core::result::Result::Ok(#done) => return #result,
            #skip
            ::core::result::Result::Err(#error) => #error,
        };
        #not_finished
    }
}

fn output_span(output: &ReturnType) -> Span {
    match output {
        ReturnType::Default => output.to_token_stream().span(),
        ReturnType::Type(_, ty) => ty.span(),
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::quote;
    use syn::ItemFn;

    use crate::model::LockedFn;

    fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
        let args = syn::parse2(args).expect("options");
        let item = syn::parse2(item).expect("a function");
        super::expand(LockedFn::new(args, item).expect("a model"))
    }

    #[test]
    fn a_body_that_is_half_typed_is_passed_on() {
        let body = quote! { { let total = self.; orders. } };
        let item = quote! { async fn f(&self) -> Result<(), E> #body };
        let text = expand(quote!(key = "k", client = self.locks), item).to_string();
        assert!(text.contains(&body.to_string()), "{text}");
    }

    #[test]
    fn what_stands_around_the_function_stays() {
        let item = quote! {
            /// Words.
            #[cfg(feature = "orders")]
            pub(crate) async fn f<T>(id: T) -> Result<(), E> where T: KeyPart {
                #![allow(unused)]
                Ok(())
            }
        };
        let before: ItemFn = syn::parse2(item.clone()).expect("a function");
        let expanded = expand(quote!(key = "k:{id}", client = locks), item);
        let after: ItemFn = syn::parse2(expanded).expect("a function");
        assert_eq!((after.vis, after.sig), (before.vis, before.sig));
        let paths: Vec<_> = after.attrs.iter().map(|attr| attr.path()).collect();
        assert_eq!(quote!(#(#paths)*).to_string(), "doc cfg allow");
    }

    #[test]
    fn a_handler_keeps_the_number_of_its_arguments() {
        for (arguments, expected) in [
            (quote!(), 0),
            (quote!(Path(id): Path<u64>), 1),
            (quote!(State(s): State<App>, Path(id): Path<u64>, body: String), 3),
        ] {
            let expanded = expand(quote!(key = "k"), quote! { async fn f(#arguments) {} });
            let after: ItemFn = syn::parse2(expanded).expect("a function");
            assert_eq!(after.sig.inputs.len(), expected);
        }
    }
}
