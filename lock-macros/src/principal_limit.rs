//! How many locks of a handler one principal may have: `limit_principals` and `principal`.

use syn::{Error, LitInt, LitStr, Result};

use crate::bindings::Bindings;
use crate::key::Key;
use crate::key_list::KeyOption;
use crate::model::Client;

/// A limit, and the principal of a call.
pub(crate) struct LimitOption {
    pub(crate) most: usize,
    pub(crate) principal: Key,
}

/// Returns the limit of a handler whose calls have this number of `locks`.
pub(crate) fn principal_limit(
    most: Option<LitInt>,
    principal: Option<LitStr>,
    locks: usize,
    client: &Client,
    bindings: &Bindings,
) -> Result<Option<LimitOption>> {
    let (number, principal) = match (most, principal) {
        (None, None) => return Ok(None),
        (Some(number), Some(principal)) => (number, principal),
        (Some(number), None) => {
            let text = "the locks of which principal? add the argument that an authenticated request has, \
                        such as `principal = \"{user}\"`";
            return Err(Error::new(number.span(), text));
        }
        (None, Some(principal)) => {
            let text = "this has no effect without `limit_principals`";
            return Err(Error::new(principal.span(), text));
        }
    };
    if let Client::Given(_) = client {
        let text = "only a handler is answered `lock-over-limit`: a function with `client = ...` has no limit";
        return Err(Error::new(number.span(), text));
    }
    let most = match number.base10_parse() {
        Ok(most) if most >= locks => most,
        Ok(_) => {
            let text =
                format!("each call has {locks} of these locks at once, so none would be allowed");
            return Err(Error::new(number.span(), text));
        }
        Err(_) => {
            let text = "`limit_principals` is a whole number, such as 3";
            return Err(Error::new(number.span(), text));
        }
    };
    let principal = Key::resolve(KeyOption { template: principal, own: None }, bindings)?;
    if principal.placeholders().next().is_none() {
        let text = "all calls would be of one principal: name an argument, such as `principal = \"{user}\"`";
        return Err(Error::new(principal.literal.span(), text));
    }
    Ok(Some(LimitOption { most, principal }))
}
