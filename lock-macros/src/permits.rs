//! How many permits a semaphore has, and how many of them each call takes.

use lock_key::MAX_PERMITS;
use proc_macro2::Span;
use syn::{Error, LitInt, Result};

use crate::kind::Kind;

/// Returns both numbers, checked against each other and the kind, which is written at `place`; a semaphore
/// is written as `semaphore`.
pub(crate) fn permits(
    permits: Option<&LitInt>,
    weight: Option<&LitInt>,
    kind: Kind,
    place: Span,
    semaphore: &str,
) -> Result<(Option<u32>, Option<u32>)> {
    if !kind.is_semaphore() {
        let given = permits.map(|of| (of, "permits"));
        let given = given.or(weight.map(|wanted| (wanted, "weight")));
        return match given {
            None => Ok((None, None)),
            Some((number, option)) => Err(Error::new(
                number.span(),
                format!("only a semaphore has `{option}`: {semaphore}"),
            )),
        };
    }
    let Some(of) = permits else {
        return Err(Error::new(place, "a semaphore needs its number of permits: `permits = 3`"));
    };
    let permits = at_least_one(of, "permits")?;
    let wanted = weight.map(|weight| at_least_one(weight, "weight")).transpose()?;
    match (weight, wanted) {
        (Some(number), Some(weight)) if weight > permits => Err(Error::new(
            number.span(),
            format!(
                "this is more than the semaphore has, so no call could acquire it: at most \
                 {permits}"
            ),
        )),
        _ => Ok((Some(permits), wanted)),
    }
}

fn at_least_one(number: &LitInt, option: &str) -> Result<u32> {
    match number.base10_parse::<u32>() {
        Ok(0) => Err(Error::new(number.span(), format!("`{option}` is at least 1"))),
        Ok(number @ 1..=MAX_PERMITS) => Ok(number),
        Ok(_) | Err(_) => {
            let text = format!("`{option}` is a whole number, at most {MAX_PERMITS}");
            Err(Error::new(number.span(), text))
        }
    }
}
