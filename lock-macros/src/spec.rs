//! The statements that declare the lock and compute its keys.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;

use lock_key::PlaceholderType;

use crate::key::{Key, KeyPiece, KeyValue};
use crate::kind::Kind;
use crate::model::{KeyLock, LockOptions, Mode, OptionDuration};
use crate::names::Names;
use crate::statuses::OutcomeStatus;

/// `let __lock = &...; let __keys = ...;`
pub(crate) fn spec(
    lock: &LockOptions,
    statuses: &[OutcomeStatus],
    function: &Ident,
    names: &Names,
) -> TokenStream {
    let [local_lock, local_keys] = ["__lock", "__keys"].map(|name| names.local(name));
    let [declared, spec, outcome] =
        ["DeclaredLock", "Spec", "Outcome"].map(|name| names.path(name));
    let name = match &lock.name {
        Some(name) => name.to_token_stream(),
        None => {
            let function = function.unraw().to_string();
            quote! { ::core::concat!(::core::module_path!(), "::", #function) }
        }
    };
    let keys = lock.keys.iter().map(|key| self::key(key, names));
    let declared_keys = declared_keys(&lock.keys, names);
    let (kind, mode) = (kind_of(lock.kind, names), mode_of(lock.mode, names));
    let [wait, lease, max_hold, hold_at_least, replace_after] =
        [lock.wait, lock.lease, lock.max_hold, lock.hold_at_least, lock.replace_after]
            .map(optional_duration);
    let skips_if_busy = lock.skips_if_busy;
    let limit_principals = optional(lock.limit.as_ref().map(|limit| {
        let most = limit.most;
        quote! { #most }
    }));
    let renew = optional(lock.renew.map(ToTokens::into_token_stream));
    let [permits, weight] =
        [lock.permits, lock.weight].map(|number| optional(number.map(ToTokens::into_token_stream)));
    let statuses = statuses.iter().map(|OutcomeStatus { outcome: variant, status, .. }| {
        let variant = names.local(variant);
        quote! { (#outcome::#variant, #status) }
    });
    quote! {
        // The block hides the static from the function's body: unlike a variable, an item of a macro is
        // visible there.
        let #local_lock = {
            static DECLARED: #declared = #declared::new(#spec {
                name: #name,
                keys: &[#(#declared_keys),*],
                kind: #kind,
                mode: #mode,
                wait: #wait,
                lease: #lease,
                max_hold: #max_hold,
                hold_at_least: #hold_at_least,
                replace_after: #replace_after,
                skips_if_busy: #skips_if_busy,
                limit_principals: #limit_principals,
                renew: #renew,
                permits: #permits,
                weight: #weight,
                statuses: &[#(#statuses),*],
            });
            &DECLARED
        };
        let #local_keys = [#(#keys),*];
    }
}

/// An expression for the principal of a call, as of a key; `None` without a limit.
pub(crate) fn principal(lock: &LockOptions, names: &Names) -> TokenStream {
    optional(lock.limit.as_ref().map(|limit| key(&limit.principal, names)))
}

/// The templates of several keys, with the lock of each that has its own. A single key needs none.
fn declared_keys(keys: &[Key], names: &Names) -> Vec<TokenStream> {
    if let [Key { own: None, .. }] = keys {
        return Vec::new();
    }
    let [declared_key, lock_spec] = ["DeclaredKey", "LockSpec"].map(|name| names.path(name));
    let declared = keys.iter().map(|Key { literal, own, .. }| {
        let own = optional(own.map(|KeyLock { kind, mode, permits, weight }| {
            let (kind, mode) = (kind_of(kind, names), mode_of(mode, names));
            let (permits, weight) = (permits.unwrap_or(0), weight.unwrap_or(1));
            quote! { #lock_spec { kind: #kind, mode: #mode, permits: #permits, weight: #weight } }
        }));
        let template = literal.value();
        quote! { #declared_key { template: #template, own: #own } }
    });
    declared.collect()
}

fn kind_of(kind: Kind, names: &Names) -> TokenStream {
    let (kinds, kind) = (names.path("Kind"), names.local(kind.variant));
    quote! { #kinds::#kind }
}

fn mode_of(mode: Mode, names: &Names) -> TokenStream {
    let modes = names.path("Mode");
    match mode {
        Mode::Read => quote! { #modes::Read },
        Mode::Write => quote! { #modes::Write },
    }
}

/// An expression for `Result<String, ValueError>` that borrows the arguments only while it runs.
fn key(key: &Key, names: &Names) -> TokenStream {
    let writer = names.local("__writer");
    let key_writer = names.path_at("KeyWriter", key.literal.span());
    let pieces = key.parts.iter().map(|piece| match piece {
        KeyPiece::Text(text) => quote! { #writer.literal(#text); },
        KeyPiece::Value(value) => key_value(value, &writer, names),
    });
    quote! {
        (|| {
            let mut #writer = #key_writer::new();
            #(#pieces)*
            #writer.finish()
        })()
    }
}

fn key_value(value: &KeyValue, writer: &Ident, names: &Names) -> TokenStream {
    let KeyValue { placeholder, argument, fields, span, .. } = value;
    let span = names.span.located_at(*span);
    let text = match value.ty {
        // Whether a value displays as a UUID is checked at run time, so that
        // `uuid::Uuid` needs no implementation of a trait that only this crate could write.
        PlaceholderType::Uuid => quote_spanned! {span=>
            ::std::string::ToString::to_string(&#argument #(.#fields)*)
        },
        _ => {
            let key_part = names.path_at("KeyPart", span);
            quote_spanned! {span=> #key_part::key_part(&#argument #(.#fields)*) }
        }
    };
    let placeholder_type = names.path("PlaceholderType");
    // The name of a type's variant is its `Debug` text.
    let variant = names.local(&format!("{:?}", value.ty));
    quote_spanned! {span=> #writer.value(#placeholder, #placeholder_type::#variant, &#text)?; }
}

fn optional_duration(duration: Option<OptionDuration>) -> TokenStream {
    optional(duration.map(|OptionDuration { value, .. }| {
        let milliseconds = u64::try_from(value.as_millis()).expect("at most a year");
        quote! { ::core::time::Duration::from_millis(#milliseconds) }
    }))
}

fn optional(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote! { ::core::option::Option::Some(#value) },
        None => quote! { ::core::option::Option::None },
    }
}
