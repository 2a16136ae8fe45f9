//! The option that names several locks of different kinds: `all(semaphore("exports", permits = 8), ..)`.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitInt, LitStr, Result, Token, parenthesized};

use crate::kind::Kind;
use crate::model::{KeyLock, Mode};
use crate::permits;
use crate::suggest::did_you_mean;

const EXAMPLE: &str = "`all(semaphore(\"exports\", permits = 8), write(\"report:{id}\"))`";

/// The value of `all`.
pub(crate) struct AllOption {
    pub(crate) span: Span,
    pub(crate) locks: Vec<OneOption>,
}

/// One of the locks, as it is written.
pub(crate) struct OneOption {
    pub(crate) template: LitStr,
    pub(crate) lock: KeyLock,
}

/// Every word for a lock, which is that of the client's method, with the kind and the mode.
const LOCKS: [(&str, &str, Mode); 9] = [
    ("read", "read_write", Mode::Read),
    ("write", "read_write", Mode::Write),
    ("fair_read", "fair_read_write", Mode::Read),
    ("fair_write", "fair_read_write", Mode::Write),
    ("reentrant", "reentrant", Mode::Write),
    ("non_reentrant", "non_reentrant", Mode::Write),
    ("fair", "fair", Mode::Write),
    ("fenced", "fenced", Mode::Write),
    ("semaphore", "semaphore", Mode::Write),
];

impl AllOption {
    /// Reads what follows the word `all`.
    pub(crate) fn parse(option: &Ident, input: ParseStream) -> Result<Self> {
        if !input.peek(syn::token::Paren) {
            let span = if input.is_empty() { option.span() } else { input.span() };
            let text = format!("`all` expects locks in parentheses: {EXAMPLE}");
            return Err(Error::new(span, text));
        }
        let content;
        let span = parenthesized!(content in input).span.join();
        let locks: Punctuated<OneOption, Token![,]> = content.call(Punctuated::parse_terminated)?;
        let locks: Vec<OneOption> = locks.into_iter().collect();
        if locks.is_empty() {
            let text = format!("`all` is empty; name what is locked, such as {EXAMPLE}");
            return Err(Error::new(span, text));
        }
        for (nth, lock) in locks.iter().enumerate() {
            if locks[..nth].iter().any(|known| known.template.value() == lock.template.value()) {
                let twice = "this key is given twice; remove one";
                return Err(Error::new(lock.template.span(), twice));
            }
        }
        Ok(Self { span, locks })
    }
}

impl Parse for OneOption {
    fn parse(input: ParseStream) -> Result<Self> {
        let word = input.call(Ident::parse_any).map_err(|error| {
            Error::new(error.span(), format!("expected a lock; legal are {}", legal()))
        })?;
        let text = word.to_string();
        let known = LOCKS.into_iter().find(|(name, ..)| *name == text);
        let Some((name, kind, mode)) = known else {
            let hint = did_you_mean(&text, LOCKS.map(|(name, ..)| name));
            let text = format!("`{text}` is not a lock; legal are {}{hint}", legal());
            return Err(Error::new(word.span(), text));
        };
        let expected =
            format!("`{name}` expects the template of its key: `{name}(\"order:{{id}}\")`");
        if !input.peek(syn::token::Paren) {
            return Err(Error::new(word.span(), expected));
        }
        let content;
        let span = parenthesized!(content in input).span.join();
        let at = if content.is_empty() { span } else { content.span() };
        let template: LitStr = content.parse().map_err(|_| Error::new(at, expected))?;
        let (mut permits, mut weight) = (None, None);
        while !content.is_empty() {
            if content.parse::<Token![,]>().is_err() {
                return Err(content.error("expected `,` between two options"));
            }
            if !content.is_empty() {
                number(&content, &mut permits, &mut weight)?;
            }
        }
        let kind = Kind::of_word(kind);
        let (permits, weight) = permits::permits(
            permits.as_ref(),
            weight.as_ref(),
            kind,
            word.span(),
            "write `semaphore(..)`",
        )?;
        Ok(Self { template, lock: KeyLock { kind, mode, permits, weight } })
    }
}

/// Reads `permits = 8` or `weight = 2`.
fn number(
    input: ParseStream,
    permits: &mut Option<LitInt>,
    weight: &mut Option<LitInt>,
) -> Result<()> {
    let option = input.call(Ident::parse_any)?;
    let place = match option.to_string().as_str() {
        "permits" => permits,
        "weight" => weight,
        word => {
            let hint = did_you_mean(word, ["permits", "weight"]);
            let text =
                format!("`{word}` is not an option of a lock; legal are permits, weight{hint}");
            return Err(Error::new(option.span(), text));
        }
    };
    if place.is_some() {
        return Err(Error::new(option.span(), format!("`{option}` is given twice")));
    }
    let expect =
        |span: Span| Error::new(span, format!("`{option}` expects a number: `{option} = 3`"));
    let span = if input.is_empty() { option.span() } else { input.span() };
    input.parse::<Token![=]>().map_err(|_| expect(span))?;
    let span = if input.is_empty() { option.span() } else { input.span() };
    *place = Some(input.parse().map_err(|_| expect(span))?);
    Ok(())
}

fn legal() -> String {
    LOCKS.map(|(name, ..)| name).join(", ")
}
