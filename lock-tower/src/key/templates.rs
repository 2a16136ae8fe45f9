//! Keys from templates over a request.

use std::borrow::Cow;

use axum::extract::{FromRequestParts, RawPathParams, rejection::RawPathParamsRejection};
use http::request::Parts;
use lock_core::{LockKey, Template};
use lock_key::Hole;
use sha2::{Digest, Sha256};

use super::{BadKey, KeyTemplateError, KeyValues, RequestKey, source::Source, values::Values};
use crate::name::Name;

/// Templates whose holes all name something of a request: at least one, no two alike.
#[derive(Debug)]
pub(crate) struct KeyTemplates(Vec<KeyTemplate>);

/// One of them.
#[derive(Debug)]
pub(crate) struct KeyTemplate {
    template: Template,
    source: Name,
}

impl KeyTemplates {
    pub(crate) fn parse<'t>(
        sources: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, KeyTemplateError> {
        let mut templates: Vec<KeyTemplate> = Vec::new();
        for source in sources {
            if templates.iter().any(|known| &*known.source == source) {
                return Err(KeyTemplateError::Twice { template: source.to_owned() });
            }
            templates.push(KeyTemplate::parse(source)?);
        }
        if templates.is_empty() {
            return Err(KeyTemplateError::None);
        }
        Ok(Self(templates))
    }

    /// The texts of the templates, for a name.
    pub(crate) fn sources(&self) -> String {
        let sources: Vec<&str> = self.0.iter().map(|template| &*template.source).collect();
        sources.join(", ")
    }

    /// One by one.
    #[cfg(feature = "policy")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeyTemplate> {
        self.0.iter()
    }

    /// At least one key. [`BadKey::missing`] is given for values that only the client can bring.
    pub(crate) async fn keys(
        &self,
        parts: &mut Parts,
        registered: &KeyValues,
    ) -> Result<Vec<RequestKey>, BadKey> {
        let mut holes = self.0.iter().flat_map(|template| template.template.holes());
        let path = if holes.any(|hole| matches!(Source::of(hole), Some(Source::Path(_)))) {
            Some(parameters(parts).await?)
        } else {
            None
        };
        let values = Values { parts, path: path.iter().flatten().collect(), registered };
        self.0.iter().map(|template| template.key(&values)).collect()
    }
}

impl KeyTemplate {
    fn parse(source: &str) -> Result<Self, KeyTemplateError> {
        let template = Template::parse(source)
            .map_err(|error| KeyTemplateError::Template { template: source.to_owned(), error })?;
        if let Some(hole) = template.holes().find(|hole| Source::of(hole).is_none()) {
            return Err(KeyTemplateError::UnknownSource {
                template: source.to_owned(),
                hole: hole.name(),
                span: hole.span.clone(),
            });
        }
        Ok(Self { template, source: source.to_owned().into() })
    }

    /// What it was read from.
    #[cfg(feature = "policy")]
    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    fn key(&self, values: &Values<'_>) -> Result<RequestKey, BadKey> {
        let key = self.template.render(|hole| {
            // `parse` has let no other holes pass.
            let source = Source::of(hole)
                .ok_or_else(|| BadKey::misconfigured("BUG: a hole without a source"))?;
            stands_in(hole, values.value(&source)?, &source)
        })?;
        Ok(RequestKey { key: LockKey::try_from(key)?, template: Some(self.source.clone()) })
    }
}

/// What a hole takes for the value that a request has, or has not.
pub(crate) fn stands_in<'v>(
    hole: &Hole,
    value: Option<Cow<'v, str>>,
    source: &Source<'_>,
) -> Result<Cow<'v, str>, BadKey> {
    let value = match (value, &hole.default) {
        (Some(value), _) => value,
        (None, Some(default)) => Cow::Owned(default.clone()),
        (None, None) => return Err(source.missing()),
    };
    if hole.hash {
        let digest = Sha256::digest(hole.canonical(&value)?.as_bytes());
        return Ok(format!("{digest:x}").into());
    }
    Ok(value)
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
