//! Checks combinations of values that are each valid alone.

use std::time::Duration;

use lock_core::Kind;
use lock_key::MAX_PERMITS;

use super::{Rule, effective_fields::EffectiveFields, locks};
use crate::{
    diagnostics::Diagnostic,
    matching::Matcher,
    read::{Fields, Read},
};

const SEMAPHORE: &str = Kind::Semaphore.as_str();

/// Checks one rule, defaults included.
pub(crate) fn rule(
    fields: &Fields,
    defaults: Option<&Fields>,
    request: Option<&Fields>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let of_attribute = fields.table("match").is_some_and(|found| found.get("attribute").is_some());
    let effective = EffectiveFields { rule: fields, defaults, of_attribute };
    for fields in [defaults, Some(fields)].into_iter().flatten() {
        fails_without_a_wait(fields, diagnostics);
    }
    waits_within_the_deadline(
        &effective,
        request.and_then(|request| request.get("deadline")),
        diagnostics,
    );
    // Of several locks each is checked by itself.
    if !locks::are_in(fields) {
        lock(&effective, diagnostics);
    }
    hold_is_not_beyond_the_lease(&effective, diagnostics);
    hold_ends_before_max_hold(&effective, diagnostics);
}

/// Checks which lock a rule has, or one of several.
pub(super) fn lock(effective: &EffectiveFields<'_>, diagnostics: &mut Vec<Diagnostic>) {
    reads_what_has_readers(effective, diagnostics);
    has_permits_if_a_semaphore(effective, diagnostics);
}

fn fails_without_a_wait(fields: &Fields, diagnostics: &mut Vec<Diagnostic>) {
    if let (Some(on_busy), Some(wait)) = (fields.get("on_busy"), fields.get("wait"))
        && on_busy.word() == Some("fail")
        && wait.duration().is_some_and(|wait| !wait.is_zero())
    {
        diagnostics.push(
            Diagnostic::new(on_busy.span.clone(), "a request that fails at once does not wait")
                .related(wait.span.clone(), "the wait")
                .help("drop `wait`, or drop `on_busy`".to_owned()),
        );
    }
}

fn waits_within_the_deadline(
    effective: &EffectiveFields<'_>,
    deadline: Option<&Read>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some((limit, deadline)) = deadline.and_then(|read| Some((read.duration()?, read))) else {
        return;
    };
    let reserve = effective.get("reserve");
    let kept = reserve.and_then(Read::duration).unwrap_or_default();
    if let Some(reserve) = reserve.filter(|_| kept >= limit) {
        diagnostics.push(
            Diagnostic::new(
                reserve.span.clone(),
                "this `reserve` leaves no time to wait for the lock",
            )
            .related(deadline.span.clone(), "a request has this long")
            .help("a reserve is shorter than the request's deadline".to_owned()),
        );
        return;
    }
    let Some(wait) = effective.get("wait") else {
        return;
    };
    let together = wait.duration().unwrap_or(Duration::ZERO).saturating_add(kept);
    if together > limit {
        let what = match reserve {
            Some(_) => "`wait` and `reserve` together are longer than the request's deadline",
            None => "this `wait` is longer than the request's deadline",
        };
        let mut diagnostic = Diagnostic::new(wait.span.clone(), what);
        if let Some(reserve) = reserve {
            diagnostic = diagnostic.related(reserve.span.clone(), "the reserve");
        }
        diagnostics.push(
            diagnostic
                .related(deadline.span.clone(), "a request has this long")
                .help(format!("wait at most {}ms", (limit - kept).as_millis())),
        );
    }
}

fn reads_what_has_readers(effective: &EffectiveFields<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let (Some(mode), Some(kind)) = (effective.get("mode"), effective.get("kind")) else {
        return;
    };
    let has_readers =
        kind.word().is_some_and(|word| word.parse::<Kind>().is_ok_and(Kind::has_readers));
    if mode.word() == Some("read") && !has_readers {
        let what = format!("a {} lock has no readers", kind.word().unwrap_or_default());
        diagnostics.push(
            Diagnostic::new(mode.span.clone(), what)
                .related(kind.span.clone(), "the kind")
                .help("take mode \"write\" or \"auto\", or kind \"read_write\"".to_owned()),
        );
    }
}

fn has_permits_if_a_semaphore(effective: &EffectiveFields<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let kind = effective.word("kind");
    // A rule for an attribute may leave the kind to it.
    let is_semaphore = kind.map_or(effective.of_attribute, |kind| kind == SEMAPHORE);
    let [permits, weight, others] =
        ["permits", "weight", "permits_for"].map(|name| effective.get(name));
    for (name, read) in [("permits", permits), ("weight", weight), ("permits_for", others)] {
        let Some(read) = read else { continue };
        if !is_semaphore {
            let what = format!("only a semaphore has `{name}`");
            let diagnostic = Diagnostic::new(read.key.clone(), what);
            diagnostics.push(
                match effective.get("kind") {
                    Some(kind) => diagnostic.related(kind.span.clone(), "the kind"),
                    None => diagnostic,
                }
                .help("add kind = \"semaphore\", or leave it out".to_owned()),
            );
        } else if effective.count(name) == Some(0) {
            let what = format!("`{name}` is at least 1");
            diagnostics.push(Diagnostic::new(read.span.clone(), what));
        } else if effective.count(name).is_some_and(|count| count > MAX_PERMITS as usize) {
            let what = format!("`{name}` is at most {MAX_PERMITS}");
            diagnostics.push(Diagnostic::new(read.span.clone(), what));
        }
    }
    if let (Some(of), Some(wanted)) = (effective.count("permits"), effective.count("weight"))
        && wanted > of
        && let (Some(permits), Some(weight)) = (permits, weight)
    {
        diagnostics.push(
            Diagnostic::new(weight.span.clone(), "no request can have more permits than there are")
                .related(permits.span.clone(), "the permits")
                .help(format!("a weight is at most {of}")),
        );
    }
    if kind == Some(SEMAPHORE) && permits.is_none() && !effective.of_attribute {
        let span = effective.get("kind").map_or(&effective.rule.span, |kind| &kind.span);
        diagnostics.push(
            Diagnostic::new(span.clone(), "a semaphore has no number of permits")
                .help("add it to the rule, such as permits = 3".to_owned()),
        );
    }
}

fn hold_is_not_beyond_the_lease(
    effective: &EffectiveFields<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let (Some(renew), Some(lease), Some(max_hold)) =
        (effective.get("renew"), effective.get("lease"), effective.get("max_hold"))
    else {
        return;
    };
    if renew.flag() == Some(false) && max_hold.duration() > lease.duration() {
        diagnostics.push(
            Diagnostic::new(max_hold.span.clone(), "this `max_hold` can never be reached")
                .related(lease.span.clone(), "without renewal the lock is lost at the lease's end")
                .help("renew the lease, or leave `max_hold` out".to_owned()),
        );
    }
}

/// Every acquisition with such a pair would be refused.
fn hold_ends_before_max_hold(effective: &EffectiveFields<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let (Some(least), Some(most)) = (effective.get("hold_at_least"), effective.get("max_hold"))
    else {
        return;
    };
    if least.duration() > most.duration() {
        diagnostics.push(
            Diagnostic::new(least.span.clone(), "this `hold_at_least` is longer than `max_hold`")
                .related(most.span.clone(), "the longest hold")
                .help("hold the lock for at most as long as `max_hold`".to_owned()),
        );
    }
}

/// Checks the rules together: equal names, and rules hidden by an earlier one.
pub(crate) fn rules(rules: &[(Rule, &Fields)], diagnostics: &mut Vec<Diagnostic>) {
    for (nth, (rule, fields)) in rules.iter().enumerate() {
        let found = fields.get("match").map_or(&fields.span, |read| &read.span);
        let hides = |(earlier, _): &&(Rule, &Fields)| match (&earlier.matcher, &rule.matcher) {
            (Matcher::Route(earlier), Matcher::Route(rule)) => earlier.covers(rule),
            (Matcher::Attribute(earlier), Matcher::Attribute(rule)) => earlier == rule,
            _ => false,
        };
        if let Some((earlier, before)) = rules[..nth].iter().find(hides) {
            let before = before.get("match").map_or(&before.span, |read| &read.span);
            let what = format!("no request can reach the rule \"{}\"", rule.name);
            let related = format!("\"{}\" matches all of its requests first", earlier.name);
            diagnostics.push(
                Diagnostic::new(found.clone(), what)
                    .related(before.clone(), &related)
                    .help("put the narrower rule first, or remove one of them".to_owned()),
            );
        }
    }
}

/// Reports equal names, even of rules with other errors.
pub(crate) fn names(rules: &[Fields], diagnostics: &mut Vec<Diagnostic>) {
    let names: Vec<_> = rules.iter().filter_map(|fields| fields.text("name")).collect();
    for (nth, name) in names.iter().enumerate() {
        if let Some(first) = names[..nth].iter().find(|first| first.value == name.value) {
            let what = format!("the name \"{}\" is given twice", name.value.escape_debug());
            diagnostics.push(
                Diagnostic::new(name.span.clone(), what)
                    .related(first.span.clone(), "it is given first here")
                    .help("rename one of the rules".to_owned()),
            );
        }
    }
}
