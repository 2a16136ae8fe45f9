//! The keys of a rule.

use lock_key::{Placeholder, Template};

use super::{Rule, effective_fields::EffectiveFields, locks};
use crate::{
    diagnostics::{Diagnostic, closest},
    key::{KeyTemplate, KeyTemplates, SOURCES, Source, Untyped, is_untyped},
    matching::RouteMatch,
    read::{Fields, Text},
    settings::{OnMissingKey, Outcome},
};

/// The fields that name the keys, of which a rule has one.
const NAMING: [&str; 3] = ["key", "keys", "locks"];

/// Returns the templates of a rule for `route`; `None` if they have an error.
pub(crate) fn keys(
    effective: &EffectiveFields<'_>,
    route: &RouteMatch,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<KeyTemplates> {
    let fields = effective.rule;
    let mut given = NAMING.iter().filter_map(|name| Some((*name, fields.get(name)?)));
    match (given.next(), given.next()) {
        (Some((first, _)), Some((second, read))) => {
            let what = format!("`{first}` and `{second}` are both given");
            diagnostics.push(
                Diagnostic::new(read.key.clone(), what)
                    .help(format!("put every key into `{second}`")),
            );
            return None;
        }
        // The field is present and its error was already reported.
        (None, _) if NAMING.iter().any(|key| fields.written.contains(key)) => return None,
        (None, _) => {
            diagnostics.push(
                Diagnostic::new(fields.span.clone(), "[[policy]] has no `key`").help(
                    "name what is locked, such as key = \"order:{id:u64}\", or several with `keys`"
                        .to_owned(),
                ),
            );
            return None;
        }
        (Some(_), None) => {}
    }
    let texts: Vec<&Text> = texts(fields).collect();
    let before = diagnostics.len();
    let locks = locks::locks(effective, diagnostics);
    for (nth, text) in texts.iter().enumerate() {
        template(text, route, diagnostics);
        if let Some(first) = texts[..nth].iter().find(|first| first.value == text.value) {
            diagnostics.push(
                Diagnostic::new(text.span.clone(), "this key is given twice")
                    .related(first.span.clone(), "it is given first here")
                    .help("remove one of them".to_owned()),
            );
        }
    }
    if diagnostics.len() > before {
        return None;
    }
    // Everything that is refused here was already reported, with the position in the file.
    match locks {
        Some(locks) => KeyTemplates::of_locks(locks).ok(),
        None => KeyTemplates::parse(texts.iter().map(|text| text.value.as_str())).ok(),
    }
}

/// Returns the texts of the rule's templates.
fn texts(fields: &Fields) -> impl Iterator<Item = &Text> {
    let alone = fields.text("key").into_iter().chain(fields.texts("keys").unwrap_or_default());
    alone.chain(fields.tables("locks").iter().filter_map(|lock| lock.text("key")))
}

/// Returns the templates of a built rule, with their texts in the file.
pub(super) fn templates<'f>(
    rule: &'f Rule,
    fields: &'f Fields,
) -> impl Iterator<Item = (&'f KeyTemplate, &'f Text)> {
    let templates = rule.keys.iter().flat_map(|templates| templates.iter());
    templates.zip(texts(fields))
}

/// Returns the key that requests without a value of the rule's key share, as a template with its text in the
/// file; `None` if there is none, or no request may lack a value.
pub(super) fn constant<'f>(
    rule: &Rule,
    effective: &EffectiveFields<'f>,
) -> Option<(Template, &'f Text)> {
    let OnMissingKey::Constant(key) = &rule.on_missing_key else { return None };
    let may_lack = |placeholder: &Placeholder| {
        placeholder.default.is_none()
            && Source::of(placeholder)
                .is_some_and(|source| source.missing().outcome() == Outcome::KeyMissing)
    };
    if !rule.keys.as_ref()?.iter().any(|key| key.template().placeholders().any(may_lack)) {
        return None;
    }
    let text = effective.get("on_missing_key")?.table()?.text("constant")?;
    let key = key.as_str().replace('{', "{{").replace('}', "}}");
    Some((Template::parse(&key).ok()?, text))
}

/// Warns of path parameters whose spelling decides which lock they name.
pub(crate) fn have_types(rule: &Rule, fields: &Fields, diagnostics: &mut Vec<Diagnostic>) {
    let Some(Untyped { what, help }) = rule.keys.as_ref().and_then(|keys| keys.untyped()) else {
        return;
    };
    let mut spans = templates(rule, fields).flat_map(|(key, text)| {
        let untyped = key.template().placeholders().filter(|placeholder| is_untyped(placeholder));
        untyped.map(|placeholder| text.part(placeholder.span.clone()))
    });
    let span = spans.next().unwrap_or_else(|| fields.span.clone());
    diagnostics.push(Diagnostic::warning(span, what).help(help));
}

fn template(text: &Text, route: &RouteMatch, diagnostics: &mut Vec<Diagnostic>) {
    let template = match Template::parse(&text.value) {
        Ok(template) => template,
        Err(error) => {
            diagnostics.push(Diagnostic::new(text.part(error.span()), error.to_string()));
            return;
        }
    };
    for placeholder in template.placeholders() {
        let wrong = match Source::of(placeholder) {
            None => Some(no_source(placeholder)),
            Some(Source::Path(name)) => no_parameter(name, route),
            Some(_) => None,
        };
        if let Some((message, help)) = wrong {
            diagnostics
                .push(Diagnostic::new(text.part(placeholder.span.clone()), message).help(help));
        }
    }
}

fn no_source(placeholder: &Placeholder) -> (String, Option<String>) {
    let word = placeholder.path.first().map_or("", String::as_str);
    let what = format!("`{}` is not part of a request", placeholder.name());
    if word == "path" {
        return (what, Some("a path parameter has one name: write `path.id`".to_owned()));
    }
    let rest = placeholder.path[1..].join(".");
    let help = match closest(word, SOURCES) {
        Some(source) => format!("did you mean `{source}.{rest}`?"),
        None => "legal are `{id}`, `{path.id}`, `{query.x}`, `{header.x}`, `{cookie.x}`, \
                 `{claim.x}` and `{ext.x}`"
            .to_owned(),
    };
    (what, Some(help))
}

fn no_parameter(name: &str, route: &RouteMatch) -> Option<(String, Option<String>)> {
    let path = route.path.as_ref()?;
    // Routes below a wildcard may have further parameters.
    if path.has_rest() || path.parameters().any(|parameter| parameter == name) {
        return None;
    }
    let what = format!("the path \"{path}\" has no parameter `{name}`");
    let help = match closest(name, path.parameters()).or_else(|| path.parameters().next()) {
        Some(parameter) => format!("did you mean `path.{parameter}`?"),
        None => format!("write a parameter into the path, such as {{{name}}}"),
    };
    Some((what, Some(help)))
}
