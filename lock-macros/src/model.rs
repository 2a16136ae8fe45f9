//! The attribute and its function together, as data.

use std::time::Duration;

use proc_macro2::Span;
use syn::{Error, Expr, LitStr, Path, Result, parse_quote};

use crate::args::Args;
use crate::bindings::Bindings;
use crate::duration;
use crate::item::FnItem;
use crate::key::Key;
use crate::kind::Kind;
use crate::once_per::JobSlots;
use crate::permits::permits;
use crate::principal_limit::{LimitOption, principal_limit};
use crate::statuses::{OutcomeStatus, statuses};
use crate::suggest::did_you_mean;

/// A function to be run under a lock.
pub(crate) struct LockedFn {
    pub(crate) item: FnItem,
    pub(crate) client: Client,
    /// In which slots a call succeeds once.
    pub(crate) once_per: Option<JobSlots>,
    /// For a handler only.
    pub(crate) statuses: Vec<OutcomeStatus>,
    pub(crate) lock: LockOptions,
    /// The path of the library.
    pub(crate) krate: Path,
}

/// The source of the client, which decides the form of the function.
pub(crate) enum Client {
    /// A handler; the layer brings the client.
    Layer,
    /// A handler; the router's state brings the client.
    State,
    /// Any function; the expression is the client.
    Given(Box<Expr>),
}

/// The lock that each call acquires.
pub(crate) struct LockOptions {
    /// At least one: all of them are locked, or none.
    pub(crate) keys: Vec<Key>,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    /// The number of permits, for a semaphore only.
    pub(crate) permits: Option<u32>,
    pub(crate) weight: Option<u32>,
    pub(crate) wait: Option<OptionDuration>,
    pub(crate) lease: Option<OptionDuration>,
    pub(crate) max_hold: Option<OptionDuration>,
    pub(crate) hold_at_least: Option<OptionDuration>,
    /// After which time a call replaces another one, if it does.
    pub(crate) replace_after: Option<OptionDuration>,
    pub(crate) skips_if_busy: bool,
    /// For a handler only.
    pub(crate) limit: Option<LimitOption>,
    pub(crate) renew: Option<bool>,
    pub(crate) name: Option<LitStr>,
}

/// Which lock one of several keys has.
#[derive(Clone, Copy)]
pub(crate) struct KeyLock {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) permits: Option<u32>,
    pub(crate) weight: Option<u32>,
}

#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Read,
    Write,
}

#[derive(Clone, Copy)]
pub(crate) struct OptionDuration {
    pub(crate) value: Duration,
    pub(crate) span: Span,
}

impl LockedFn {
    pub(crate) fn new(args: Args, item: FnItem) -> Result<Self> {
        let bindings = Bindings::of(&item.sig);
        let kind = args.kind.as_ref().map_or(Ok(Kind::default()), Kind::of)?;
        let kind_span = args.kind.as_ref().map_or_else(Span::call_site, LitStr::span);
        let (permits, weight) = permits(
            args.permits.as_ref(),
            args.weight.as_ref(),
            kind,
            kind_span,
            "add `kind = \"semaphore\"`",
        )?;
        let keys = args.keys.into_iter().map(|key| Key::resolve(key, &bindings));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let mode = args.mode.as_ref().map_or(Ok(Mode::Write), |word| mode(word, kind))?;
        let mode = strongest(&keys).unwrap_or(mode);
        let on_busy = args.on_busy.as_ref().map(on_busy).transpose()?;
        let on_busy_is = |word| on_busy.filter(|(given, _)| *given == word).map(|(_, span)| span);
        let replaces = on_busy_is("replace");
        let replace_after =
            replace_after(replaces, args.replace_by, duration(args.replace_after)?, &keys)?;
        let client = args.client.map_or(Client::Layer, client);
        let (most, principal) = (args.limit_principals, args.principal);
        let limit = principal_limit(most, principal, keys.len(), &client, &bindings)?;
        Ok(Self {
            item,
            once_per: once_per(args.once_per, on_busy)?,
            statuses: statuses(args.statuses)?,
            client,
            lock: LockOptions {
                keys,
                kind,
                mode,
                permits,
                weight,
                wait: wait(duration(args.wait)?, on_busy_is("fail"))?,
                lease: duration(args.lease)?,
                max_hold: duration(args.max_hold)?,
                hold_at_least: duration(args.hold_at_least)?,
                replace_after,
                skips_if_busy: on_busy_is("skip").is_some(),
                limit,
                renew: args.renew.map(|renew| renew.value),
                name: args.name,
            },
            krate: args.krate.unwrap_or_else(|| parse_quote!(::lock_tower)),
        })
    }
}

/// Returns the stronger mode of several locks; `None` if the attribute has one for all.
fn strongest(keys: &[Key]) -> Option<Mode> {
    let modes = keys.iter().filter_map(|key| Some(key.own?.mode));
    modes.reduce(|one, other| match (one, other) {
        (Mode::Read, Mode::Read) => Mode::Read,
        _ => Mode::Write,
    })
}

fn client(expr: Expr) -> Client {
    match expr {
        Expr::Path(path) if path.path.is_ident("state") => Client::State,
        // With parentheses, `state` is a variable.
        Expr::Paren(inner) => Client::Given(inner.expr),
        expr => Client::Given(Box::new(expr)),
    }
}

fn on_busy(literal: &LitStr) -> Result<(&'static str, Span)> {
    const WORDS: [&str; 4] = ["wait", "fail", "skip", "replace"];
    let word = literal.value();
    let known = WORDS.into_iter().find(|legal| *legal == word);
    known.map(|known| (known, literal.span())).ok_or_else(|| {
        let hint = did_you_mean(&word, WORDS);
        let word = word.escape_debug();
        let legal = "legal are \"wait\", \"fail\", \"skip\" and \"replace\"";
        Error::new(literal.span(), format!("`{word}` is not legal here; {legal}{hint}"))
    })
}

/// Returns in which slots a call succeeds once.
fn once_per(
    slots: Option<LitStr>,
    on_busy: Option<(&'static str, Span)>,
) -> Result<Option<JobSlots>> {
    let slots = slots.as_ref().map(JobSlots::of).transpose()?;
    match on_busy {
        Some((word, span)) if slots.is_some() && word != "skip" => {
            let text =
                "a job of `once_per` is skipped while it is being run elsewhere: drop `on_busy`";
            Err(Error::new(span, text))
        }
        _ => Ok(slots),
    }
}

fn mode(word: &LitStr, kind: Kind) -> Result<Mode> {
    match word.value().as_str() {
        "read" => kind.check_readers(word.span()).map(|()| Mode::Read),
        "write" => Ok(Mode::Write),
        other => {
            let hint = did_you_mean(other, ["read", "write"]);
            let other = other.escape_debug();
            let text = format!("`{other}` is not a mode; legal are \"read\" and \"write\"{hint}");
            Err(Error::new(word.span(), text))
        }
    }
}

/// Returns after which time a call that `replaces` others does so.
fn replace_after(
    replaces: Option<Span>,
    by: Option<LitStr>,
    after: Option<OptionDuration>,
    keys: &[Key],
) -> Result<Option<OptionDuration>> {
    let Some(span) = replaces else {
        let given = by.map(|by| by.span()).or(after.map(|after| after.span));
        let text = "this has no effect without `on_busy = \"replace\"`";
        return given.map_or(Ok(None), |span| Err(Error::new(span, text)));
    };
    if keys.len() > 1 || keys.iter().any(|key| key.own.is_some()) {
        let text = "a call is replaced under one key: use `key`, or wait for several";
        return Err(Error::new(span, text));
    }
    let Some(by) = by else {
        let text = "which calls may cancel another one? add the placeholder of the key that is the \
                    principal, such as `replace_by = \"user\"`, or `replace_by = \"anyone\"`";
        return Err(Error::new(span, text));
    };
    let name = by.value();
    let is_in_the_key = keys.iter().any(|key| key.placeholders().any(|known| known == name));
    if name != "anyone" && !is_in_the_key {
        let text = "this is no placeholder of the key, so calls of two principals would replace each \
                    other: add it to the key, or write `replace_by = \"anyone\"`";
        return Err(Error::new(by.span(), text));
    }
    Ok(Some(after.unwrap_or(OptionDuration { value: Duration::from_secs(2), span })))
}

/// Returns the wait of a lock that `fails` if it is busy, or of another.
fn wait(wait: Option<OptionDuration>, fails: Option<Span>) -> Result<Option<OptionDuration>> {
    match (wait, fails) {
        (wait, None) => Ok(wait),
        (Some(wait), Some(span)) if !wait.value.is_zero() => {
            let text = "a call that fails at once does not wait: drop `wait`, or drop `on_busy`";
            Err(Error::new(span, text))
        }
        (_, Some(span)) => Ok(Some(OptionDuration { value: Duration::ZERO, span })),
    }
}

fn duration(text: Option<LitStr>) -> Result<Option<OptionDuration>> {
    text.map(|text| Ok(OptionDuration { value: duration::parse(&text)?, span: text.span() }))
        .transpose()
}
