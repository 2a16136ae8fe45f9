//! Keys from a route's path parameters.

use std::borrow::Cow;

use axum::extract::{FromRequestParts, RawPathParams, rejection::RawPathParamsRejection};
use http::request::Parts;
use lock_core::{LockKey, Template};
use lock_key::Hole;

use super::{BadKey, KeyTemplateError, RequestKey};
use crate::name::Name;

/// Templates whose holes all name path parameters: at least one, no two alike.
#[derive(Debug)]
pub(crate) struct PathTemplates(Vec<PathTemplate>);

#[derive(Debug)]
struct PathTemplate {
    template: Template,
    source: Name,
}

impl PathTemplates {
    pub(crate) fn parse<'t>(
        sources: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, KeyTemplateError> {
        let mut templates: Vec<PathTemplate> = Vec::new();
        for source in sources {
            if templates.iter().any(|known| &*known.source == source) {
                return Err(KeyTemplateError::Twice { template: source.to_owned() });
            }
            templates.push(PathTemplate::parse(source)?);
        }
        if templates.is_empty() {
            return Err(KeyTemplateError::None);
        }
        Ok(Self(templates))
    }

    pub(crate) fn sources(&self) -> String {
        let sources: Vec<&str> = self.0.iter().map(|template| &*template.source).collect();
        sources.join(", ")
    }

    pub(crate) async fn keys(&self, parts: &mut Parts) -> Result<Vec<RequestKey>, BadKey> {
        let has_holes = self.0.iter().any(|template| template.template.holes().next().is_some());
        let parameters = if has_holes { Some(parameters(parts).await?) } else { None };
        self.0.iter().map(|template| template.key(parameters.as_ref())).collect()
    }
}

impl PathTemplate {
    fn parse(source: &str) -> Result<Self, KeyTemplateError> {
        let template = Template::parse(source)
            .map_err(|error| KeyTemplateError::Template { template: source.to_owned(), error })?;
        if let Some(hole) = template.holes().find(|hole| parameter(hole).is_none()) {
            return Err(KeyTemplateError::UnknownSource {
                template: source.to_owned(),
                hole: hole.name(),
                span: hole.span.clone(),
            });
        }
        Ok(Self { template, source: source.to_owned().into() })
    }

    fn key(&self, parameters: Option<&RawPathParams>) -> Result<RequestKey, BadKey> {
        let key = self.template.render(|hole| match parameters {
            Some(parameters) => value(parameters, hole).map(Cow::Borrowed),
            None => Err(BadKey::misconfigured("BUG: a hole in a template without holes")),
        })?;
        Ok(RequestKey { key: LockKey::try_from(key)?, template: Some(self.source.clone()) })
    }
}

/// The path parameter that a hole names: `{id}` is short for `{path.id}`.
fn parameter(hole: &Hole) -> Option<&str> {
    match &*hole.path {
        [name] => Some(name),
        [source, name] if source == "path" => Some(name),
        _ => None,
    }
}

async fn parameters(parts: &mut Parts) -> Result<RawPathParams, BadKey> {
    // Axum has percent-decoded the values, once; the key's own encoding is the template's business.
    let parameters = RawPathParams::from_request_parts(parts, &()).await;
    parameters.map_err(|rejection| match rejection {
        RawPathParamsRejection::InvalidUtf8InPathParam(error) => BadKey::invalid(error.body_text()),
        _ => BadKey::misconfigured(
            "the request has no path parameters where the layer stands: add the layer by \
             `Router::route_layer`, inside the router, or take the key by \
             `RequestLockLayer::with_key`",
        ),
    })
}

fn value<'p>(parameters: &'p RawPathParams, hole: &Hole) -> Result<&'p str, BadKey> {
    let name = parameter(hole).unwrap_or_default();
    let mut values = parameters.iter().filter_map(|(key, value)| (key == name).then_some(value));
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(BadKey::misconfigured(format!(
            "the key names the path parameter `{name}`, which the request's route does not have: \
             add the layer by `Router::route_layer` to routes that have it"
        ))),
        // Nested routers can have one name twice; which one is meant cannot be told.
        (Some(_), Some(_)) => Err(BadKey::misconfigured(format!(
            "the key names the path parameter `{name}`, which the request's route has twice: \
             rename one of them"
        ))),
    }
}
