//! The options between the parentheses of the attribute, as written.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, LitBool, LitInt, LitStr, Path, Result, Token};

use crate::all_option::AllOption;
use crate::key_list::{KeyOption, key_options};
use crate::statuses;
use crate::suggest::did_you_mean;

/// Every option and its values, in the order in which messages and the documentation name them.
const OPTIONS: [(&str, &str); 21] = [
    ("key", r#"a string: `key = "order:{id}"`"#),
    ("keys", r#"a list of strings: `keys = ["account:{from}", "account:{to}"]`"#),
    ("all", "locks in parentheses"),
    ("mode", r#"`mode = "read"` or `mode = "write"`"#),
    ("kind", r#"a kind of lock: `kind = "fair"`"#),
    ("permits", "a number: `permits = 3`"),
    ("weight", "a number: `weight = 2`"),
    ("wait", r#"a duration: `wait = "2s"`"#),
    ("lease", r#"a duration: `lease = "30s"`"#),
    ("max_hold", r#"a duration: `max_hold = "60s"`"#),
    ("hold_at_least", r#"a duration: `hold_at_least = "60s"`"#),
    ("once_per", r#"a duration or a cron expression: `once_per = "1h"`, `once_per = "0 3 * * *"`"#),
    ("on_busy", r#"`on_busy = "wait"`, `"fail"`, `"skip"` or `"replace"`"#),
    ("replace_by", r#"a placeholder of the key: `replace_by = "user"`, or `"anyone"`"#),
    ("replace_after", r#"a duration: `replace_after = "2s"`"#),
    ("limit_principals", "a number: `limit_principals = 3`"),
    ("principal", r#"a template over the arguments: `principal = "{user}"`"#),
    ("renew", "`renew = true` or `renew = false`"),
    ("name", r#"a string: `name = "order-write"`"#),
    ("client", "`client = state` or an expression: `client = self.locks`"),
    ("crate", "a path: `crate = lock_tower`"),
];

pub(crate) struct Args {
    /// At least one, all different.
    pub(crate) keys: Vec<KeyOption>,
    pub(crate) mode: Option<LitStr>,
    pub(crate) kind: Option<LitStr>,
    pub(crate) permits: Option<LitInt>,
    pub(crate) weight: Option<LitInt>,
    pub(crate) wait: Option<LitStr>,
    pub(crate) lease: Option<LitStr>,
    pub(crate) max_hold: Option<LitStr>,
    pub(crate) hold_at_least: Option<LitStr>,
    pub(crate) once_per: Option<LitStr>,
    pub(crate) on_busy: Option<LitStr>,
    pub(crate) replace_by: Option<LitStr>,
    pub(crate) replace_after: Option<LitStr>,
    pub(crate) limit_principals: Option<LitInt>,
    pub(crate) principal: Option<LitStr>,
    pub(crate) statuses: statuses::Given,
    pub(crate) renew: Option<LitBool>,
    pub(crate) name: Option<LitStr>,
    pub(crate) client: Option<Expr>,
    pub(crate) krate: Option<Path>,
}

impl Parse for Args {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut key = None;
        let mut keys = None;
        let mut all = None;
        let mut mode = None;
        let mut kind = None;
        let mut permits = None;
        let mut weight = None;
        let mut wait = None;
        let mut lease = None;
        let mut max_hold = None;
        let mut hold_at_least = None;
        let mut once_per = None;
        let mut on_busy = None;
        let mut replace_by = None;
        let mut replace_after = None;
        let mut limit_principals = None;
        let mut principal = None;
        let mut statuses = statuses::Given::default();
        let mut renew = None;
        let mut name = None;
        let mut client = None;
        let mut krate = None;

        while !input.is_empty() {
            let option = option_name(input)?;
            match option.to_string().as_str() {
                "key" => set(input, &option, &mut key)?,
                "keys" => set(input, &option, &mut keys)?,
                "all" if all.is_some() => {
                    return Err(Error::new(option.span(), "`all` is given twice"));
                }
                "all" => all = Some(AllOption::parse(&option, input)?),
                "mode" => set(input, &option, &mut mode)?,
                "kind" => set(input, &option, &mut kind)?,
                "permits" => set(input, &option, &mut permits)?,
                "weight" => set(input, &option, &mut weight)?,
                "wait" => set(input, &option, &mut wait)?,
                "lease" => set(input, &option, &mut lease)?,
                "max_hold" => set(input, &option, &mut max_hold)?,
                "hold_at_least" => set(input, &option, &mut hold_at_least)?,
                "once_per" => set(input, &option, &mut once_per)?,
                "on_busy" => set(input, &option, &mut on_busy)?,
                "replace_by" => set(input, &option, &mut replace_by)?,
                "replace_after" => set(input, &option, &mut replace_after)?,
                "limit_principals" => set(input, &option, &mut limit_principals)?,
                "principal" => set(input, &option, &mut principal)?,
                "renew" => set(input, &option, &mut renew)?,
                "name" => set(input, &option, &mut name)?,
                "client" => set(input, &option, &mut client)?,
                "crate" => set(input, &option, &mut krate)?,
                name => match statuses::OPTIONS.iter().position(|(known, ..)| *known == name) {
                    Some(nth) => set(input, &option, &mut statuses[nth])?,
                    None => return Err(unknown(&option)),
                },
            }
            if !input.is_empty() && input.parse::<Token![,]>().is_err() {
                return Err(input.error("expected `,` between two options"));
            }
        }

        if all.is_some() {
            let text = |name| {
                format!("`all` and `{name}` are both given; write it into the lock it is for")
            };
            let given = [
                (mode.as_ref().map(LitStr::span), "mode"),
                (kind.as_ref().map(LitStr::span), "kind"),
                (permits.as_ref().map(LitInt::span), "permits"),
                (weight.as_ref().map(LitInt::span), "weight"),
            ];
            if let Some((span, name)) =
                given.into_iter().find_map(|(span, name)| Some((span?, name)))
            {
                return Err(Error::new(span, text(name)));
            }
        }
        let keys = key_options(key, keys, all)?;
        Ok(Self {
            keys,
            mode,
            kind,
            permits,
            weight,
            wait,
            lease,
            max_hold,
            hold_at_least,
            once_per,
            on_busy,
            replace_by,
            replace_after,
            limit_principals,
            principal,
            statuses,
            renew,
            name,
            client,
            krate,
        })
    }
}

fn option_name(input: ParseStream) -> Result<Ident> {
    // `crate` is a keyword, so an ordinary identifier would not do.
    input.call(Ident::parse_any).map_err(|error| {
        Error::new(error.span(), format!("expected an option; legal are {}", legal()))
    })
}

/// Reads `= value` into `place`, once.
fn set<T: Parse>(input: ParseStream, option: &Ident, place: &mut Option<T>) -> Result<()> {
    if place.is_some() {
        return Err(Error::new(option.span(), format!("`{option}` is given twice")));
    }
    let expect = |span: Span| {
        let expected = OPTIONS.iter().find(|(name, _)| option == name);
        let expected = expected.map_or("a status, such as 409", |(_, expected)| expected);
        Error::new(span, format!("`{option}` expects {expected}"))
    };
    let equals = next_span(input, option);
    input.parse::<Token![=]>().map_err(|_| expect(equals))?;
    let value = next_span(input, option);
    *place = Some(input.parse().map_err(|_| expect(value))?);
    Ok(())
}

/// Returns the span of the next token, or of the option if there is none.
fn next_span(input: ParseStream, option: &Ident) -> Span {
    if input.is_empty() { option.span() } else { input.span() }
}

/// Options that layers and the rules of policy files have, and the attribute has not.
const OF_LAYERS: [&str; 16] = [
    "body",
    "body_timeout",
    "enforce",
    "fence_header",
    "hold_until",
    "max_local_handoffs",
    "max_shared_readers",
    "max_waiters",
    "on_disconnect",
    "on_lost",
    "on_missing_key",
    "on_store_down",
    "refuse_deadlock",
    "refuse_early",
    "release",
    "reserve",
];

fn unknown(option: &Ident) -> Error {
    let word = option.to_string();
    if OF_LAYERS.contains(&&*word) {
        let what = format!(
            "`{word}` is not an option of `distributed_lock`: `RequestLockLayer` and the rules of policy \
             files have it"
        );
        return Error::new(option.span(), what);
    }
    let hint = did_you_mean(&word, names());
    Error::new(
        option.span(),
        format!("`{word}` is not an option of `distributed_lock`; legal are {}{hint}", legal()),
    )
}

fn legal() -> String {
    names().collect::<Vec<_>>().join(", ")
}

fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.into_iter().map(|(name, _)| name).chain(statuses::OPTIONS.map(|(name, ..)| name))
}
