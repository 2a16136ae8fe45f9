//! The slots of `once_per`: a duration, or a cron expression.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Error, LitStr, Result};

use crate::duration;
use crate::names::Names;

/// The shortest slot.
const SHORTEST: Duration = Duration::from_secs(1);

/// In which slots a job succeeds once.
pub(crate) struct JobSlots {
    pattern: SlotPattern,
    pub(crate) span: Span,
}

enum SlotPattern {
    Every(Duration),
    Cron(LitStr),
}

impl JobSlots {
    /// A text with a space is a cron expression. Its fields are checked when the job is run.
    pub(crate) fn of(text: &LitStr) -> Result<Self> {
        let span = text.span();
        let fields = text.value().split_whitespace().count();
        let pattern = match fields {
            0 | 1 => SlotPattern::Every(duration::parse(text)?),
            5 | 6 => SlotPattern::Cron(text.clone()),
            _ => {
                let text = format!(
                    "a cron expression has five fields, or six with the second first; this has {fields}"
                );
                return Err(Error::new(span, text));
            }
        };
        match pattern {
            SlotPattern::Every(length) if length < SHORTEST => {
                Err(Error::new(span, "this slot is too short; it is at least 1 s"))
            }
            pattern => Ok(Self { pattern, span }),
        }
    }

    /// An expression for the library's `Slots`.
    pub(crate) fn expression(&self, names: &Names) -> TokenStream {
        match &self.pattern {
            SlotPattern::Every(length) => {
                let slots = names.path("Slots");
                let milliseconds = u64::try_from(length.as_millis()).expect("at most a year");
                quote! { #slots::every(::core::time::Duration::from_millis(#milliseconds)) }
            }
            SlotPattern::Cron(expression) => {
                let cron_slots = names.path_at("cron_slots", expression.span());
                quote! { #cron_slots(#expression) }
            }
        }
    }
}
