//! Other numbers of permits for some requests, such as those of a tenant with a larger plan.

use http::{HeaderName, request::Parts};
use lock_key::MAX_PERMITS;

use super::{effective_fields::EffectiveFields, routes::header_name};
use crate::{
    diagnostics::Diagnostic,
    key::KeyValues,
    read::{Fields, Value},
};

/// How many permits a semaphore has for the requests with this value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitsFor {
    source: PermitsSource,
    value: String,
    /// The number of permits.
    pub permits: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PermitsSource {
    Header(HeaderName),
    Claim(String),
}

impl PermitsFor {
    /// Whether a request has the value, once. Another one has the rule's own number.
    pub fn applies(&self, parts: &Parts, registered: &KeyValues) -> bool {
        match &self.source {
            PermitsSource::Header(name) => {
                let mut values = parts.headers.get_all(name).iter();
                values.next().is_some_and(|value| value.as_bytes() == self.value.as_bytes())
                    && values.next().is_none()
            }
            PermitsSource::Claim(name) => {
                registered.claim(parts, name).is_some_and(|value| value == self.value)
            }
        }
    }
}

pub(super) fn permits_for(
    effective: &EffectiveFields<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<PermitsFor> {
    let Some(read) = effective.get("permits_for") else { return Vec::new() };
    let Value::Tables(tables) = &read.value else { return Vec::new() };
    tables.iter().filter_map(|fields| one(fields, effective, diagnostics)).collect()
}

fn one(
    fields: &Fields,
    effective: &EffectiveFields<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<PermitsFor> {
    let source = match (fields.text("header"), fields.text("claim")) {
        (Some(header), None) => PermitsSource::Header(header_name(header, diagnostics)?),
        (None, Some(claim)) => PermitsSource::Claim(claim.value.clone()),
        _ => {
            let what = "a number of permits is for one header or one claim";
            let help = "write { claim = \"plan\", value = \"large\", permits = 10 }".to_owned();
            diagnostics.push(Diagnostic::new(fields.span.clone(), what).help(help));
            return None;
        }
    };
    let read = fields.get("permits")?;
    let Value::Count(count) = read.value else { return None };
    let least = effective.count("weight").unwrap_or(1).max(1);
    let permits = u32::try_from(count).ok().filter(|permits| *permits <= MAX_PERMITS);
    let Some(permits) = permits.filter(|_| count >= least) else {
        let what = format!("`permits` is from {least} to {MAX_PERMITS} here");
        diagnostics.push(Diagnostic::new(read.span.clone(), what));
        return None;
    };
    Some(PermitsFor { source, value: fields.text("value")?.value.clone(), permits })
}
