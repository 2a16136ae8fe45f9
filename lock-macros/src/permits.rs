//! How many permits a semaphore has, and how many of them each call takes.

use lock_key::MAX_PERMITS;
use syn::{Error, LitInt, Result};

use crate::args::Args;
use crate::kind::Kind;

/// Returns both numbers, checked against each other and the kind.
pub(crate) fn permits(args: &Args, kind: Kind) -> Result<(Option<u32>, Option<u32>)> {
    if !kind.is_semaphore() {
        let given = args.permits.as_ref().map(|of| (of, "permits"));
        let given = given.or(args.weight.as_ref().map(|wanted| (wanted, "weight")));
        return match given {
            None => Ok((None, None)),
            Some((number, option)) => Err(Error::new(
                number.span(),
                format!("only a semaphore has `{option}`: add `kind = \"semaphore\"`"),
            )),
        };
    }
    let Some(of) = &args.permits else {
        let span = args.kind.as_ref().map_or_else(proc_macro2::Span::call_site, |kind| kind.span());
        return Err(Error::new(span, "a semaphore needs its number of permits: `permits = 3`"));
    };
    let permits = at_least_one(of, "permits")?;
    let weight = args.weight.as_ref().map(|weight| at_least_one(weight, "weight")).transpose()?;
    match (&args.weight, weight) {
        (Some(wanted), Some(weight)) if weight > permits => Err(Error::new(
            wanted.span(),
            format!(
                "this is more than the semaphore has, so no call could acquire it: at most \
                 {permits}"
            ),
        )),
        _ => Ok((Some(permits), weight)),
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
