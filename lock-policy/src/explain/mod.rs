//! Explains which lock a request gets and why.

mod explanation;

use std::sync::Arc;

use http::{HeaderMap, Method, Request, Uri, request::Parts};
use lock_core::{__private::LockSpec, Kind, Mode};
use lock_key::{KeyWriter, Placeholder, Segment, Template};
use percent_encoding::percent_decode_str;

use crate::{
    key::{KeyRejection, KeyTemplate, KeyValues, RequestValues, Source, resolve_value},
    matching::{Matcher, RouteMatch, Way, host_of},
    rule::{CheckedFile, Rule},
    schema::{OF_EACH_LOCK, Table, ValueType},
    settings::{Enforce, OnBusy, OnMissingKey, Outcome, kill_switch},
};

use explanation::{ExplainedValue, MatchedRule, SkippedRule};

pub use explanation::Explanation;

pub(crate) fn explain(
    file: &CheckedFile,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    in_force: fn(&str, Enforce) -> Enforce,
) -> Explanation {
    let (path_alone, query) = path.split_once('?').unwrap_or((path, ""));
    let mut explanation = Explanation {
        method: method.to_string(),
        path: path.to_owned(),
        file: Arc::clone(&file.name),
        rule: None,
        passed: Vec::new(),
    };
    let host = host_of(&Uri::default(), headers).map(str::to_owned);
    let chosen = route_of(&file.rules, path_alone);
    let way = chosen.as_deref().map_or(Way::Path(path_alone), Way::Route);
    for rule in &file.rules {
        let Matcher::Route(route) = &rule.matcher else {
            continue;
        };
        match route.mismatch(method, way, host.as_deref(), headers) {
            Some(differs) => {
                let (name, line) = (Arc::clone(&rule.name), rule.line);
                explanation.passed.push(SkippedRule { name, line, differs });
            }
            None => {
                explanation.rule = Some(MatchedRule {
                    name: Arc::clone(&rule.name),
                    line: rule.line,
                    keys: keys(rule, route, path_alone, &parts(method, query, headers)),
                    values: values(file, rule, method, in_force),
                });
                break;
            }
        }
    }
    explanation
}

/// Returns the route that a router with all the file's paths would choose for this path.
fn route_of(rules: &[Rule], path: &str) -> Option<String> {
    let patterns = rules.iter().filter_map(|rule| match &rule.matcher {
        Matcher::Route(route) => route.path.as_ref(),
        Matcher::Attribute(_) => None,
    });
    let fitting = patterns.filter(|pattern| pattern.captures(path).is_some());
    fitting.min_by_key(|pattern| pattern.breadth()).map(ToString::to_string)
}

fn parts(method: &Method, query: &str, headers: &HeaderMap) -> Parts {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = method.clone();
    parts.headers = headers.clone();
    // A query that no client can send has no parameters.
    parts.uri = format!("/?{query}").parse().unwrap_or_default();
    parts
}

/// Returns the keys as far as the request determines them. Values that only the service has stay
/// placeholders.
fn keys(rule: &Rule, route: &RouteMatch, path: &str, parts: &Parts) -> Vec<String> {
    // Axum rejects such a path, so it provides no parameter.
    if percent_decode_str(path).decode_utf8().is_err()
        && rule.keys.iter().any(|templates| templates.name_path_parameters())
    {
        return vec![rejected(&KeyRejection::path_is_not_utf8())];
    }
    let captured = route.path.as_ref().and_then(|pattern| pattern.captures(path));
    let captured = captured.unwrap_or_default();
    let registered = KeyValues::default();
    let path = captured.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let values = RequestValues { parts, path, registered: &registered };
    let templates = rule.keys.iter().flat_map(|templates| templates.iter());
    let keys: Result<Vec<_>, KeyRejection> =
        templates.map(|template| described(template, &values)).collect();
    keys.unwrap_or_else(|bad| {
        vec![match &rule.on_missing_key {
            OnMissingKey::Constant(key) if bad.outcome() == Outcome::KeyMissing => key.to_string(),
            OnMissingKey::Skip if bad.outcome() == Outcome::KeyMissing => {
                format!("no lock: {bad}")
            }
            _ => rejected(&bad),
        }]
    })
}

fn rejected(why: &KeyRejection) -> String {
    format!("{}: {why}", why.outcome().as_str())
}

/// Returns a key, and which lock it has if that is its own.
fn described(template: &KeyTemplate, values: &RequestValues<'_>) -> Result<String, KeyRejection> {
    let key = key(template.template(), values)?;
    Ok(match template.own_lock(&values.parts.method) {
        None => key,
        Some(LockSpec { kind: kind @ Kind::Semaphore, permits, weight, .. }) => {
            format!("{key} ({kind}: {weight} of {permits} permits)")
        }
        Some(LockSpec { kind, mode, .. }) => format!("{key} ({kind}: {})", mode_word(mode)),
    })
}

fn key(template: &Template, values: &RequestValues<'_>) -> Result<String, KeyRejection> {
    let mut writer = KeyWriter::new();
    for segment in template.segments() {
        match segment {
            Segment::Literal(text) => writer.literal(text),
            Segment::Placeholder(placeholder) => write(&mut writer, placeholder, values)?,
        }
    }
    Ok(writer.finish()?)
}

fn write(
    writer: &mut KeyWriter,
    placeholder: &Placeholder,
    values: &RequestValues<'_>,
) -> Result<(), KeyRejection> {
    let Some(source) = Source::of(placeholder) else {
        return Ok(());
    };
    let value = values.value(&source)?;
    let is_open = matches!(source, Source::Path(_) | Source::Claim(_) | Source::Extension(_));
    if value.is_none() && is_open {
        writer.literal(&format!("{{{}}}", placeholder.name()));
        return Ok(());
    }
    let value = resolve_value(placeholder, value, &source)?;
    if placeholder.hash {
        writer.digest(&placeholder.name(), &value)?;
    } else {
        writer.value(&placeholder.name(), placeholder.ty, &value)?;
    }
    Ok(())
}

fn values(
    file: &CheckedFile,
    rule: &Rule,
    method: &Method,
    in_force: fn(&str, Enforce) -> Enforce,
) -> Vec<ExplainedValue> {
    let has_own_locks = rule.keys.as_ref().is_some_and(|keys| keys.have_own_locks());
    let shown_above = ["name", "match", "key", "keys", "locks"];
    let fields = Table::Policy.fields().filter(|field| {
        // Of the statuses, those that differ from the table of outcomes.
        let is_set = rule.origins.contains_key(field.name);
        let is_of_each_lock = has_own_locks && OF_EACH_LOCK.contains(&field.name);
        !shown_above.contains(&field.name)
            && !is_of_each_lock
            && (is_set || !matches!(field.value_type, ValueType::Status(_)))
    });
    let mut rows: Vec<ExplainedValue> = fields
        .map(|field| match rule.origins.get(field.name) {
            Some(set) => {
                let table = if set.by_defaults { "defaults" } else { "policy" };
                let origin = format!("{}:{} ({table})", file.name, set.line);
                ExplainedValue { field: field.name, value: set.shown.clone(), origin }
            }
            None => ExplainedValue {
                field: field.name,
                value: field.default.unwrap_or_default().to_owned(),
                origin: "built in".to_owned(),
            },
        })
        .collect();
    if let Some(deadline) = file.request.deadline {
        let header = file.request.header.as_ref();
        let shorter = header.map(|name| format!(", less by the header `{name}`"));
        rows.push(ExplainedValue {
            field: "deadline",
            value: format!("{deadline:?}{}", shorter.unwrap_or_default()),
            origin: format!("{} (request)", file.name),
        });
    }
    let configured = rule.settings.enforce.unwrap_or_default();
    let in_force = in_force(&rule.name, configured);
    for row in &mut rows {
        if row.field == "mode" {
            let mode = rule.mode.unwrap_or_default().on(rule.kind.unwrap_or_default(), method);
            row.value = format!("{} ({method}: {})", row.value, mode_word(mode));
        }
        if row.field == "enforce" && in_force != configured {
            row.value = in_force.to_string();
            row.origin = format!("environment ({})", kill_switch::VARIABLE);
        }
        let settings = &rule.settings;
        let waits_for_none = match settings.on_busy {
            Some(OnBusy::Fail) => true,
            Some(OnBusy::Skip) => settings.wait.is_none(),
            _ => false,
        };
        if row.field == "wait" && waits_for_none {
            row.value = "0s, by `on_busy`".to_owned();
        }
    }
    rows
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Read => "read",
        Mode::Write => "write",
    }
}
