//! Computes keys from templates over a request.

use std::borrow::Cow;

use lock_core::LockKey;
use lock_key::{Placeholder, Segment, Template};

use super::{
    RequestKey, RequestKeys, rejection::KeyRejection, request_values::RequestValues,
    sha256::sha256, source::Source, template_error::KeyTemplateError,
};
use crate::settings::{LockName, ReplaceBy};

/// Templates whose placeholders all name parts of a request: at least one, all different.
#[derive(Debug)]
pub struct KeyTemplates(Vec<KeyTemplate>);

/// One template with its sources.
#[derive(Debug)]
pub(crate) struct KeyTemplate {
    template: Template,
    source: LockName,
}

impl KeyTemplates {
    /// # Errors
    ///
    /// The first text that is not a template over a request, an empty list, or a repeated template.
    pub fn parse<'t>(sources: impl IntoIterator<Item = &'t str>) -> Result<Self, KeyTemplateError> {
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

    /// Returns the texts of the templates, for a name.
    #[must_use]
    pub fn sources(&self) -> String {
        let sources: Vec<&str> = self.0.iter().map(|template| &*template.source).collect();
        sources.join(", ")
    }

    /// Iterates over the templates.
    #[cfg(feature = "file")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeyTemplate> {
        self.0.iter()
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().flat_map(|template| template.template.placeholders())
    }

    /// Whether they give the same keys for every request. `{id}` and `{id:text}` do.
    #[must_use]
    pub fn give_the_keys_of(&self, other: &Self) -> bool {
        let segments = |templates: &Self| -> Vec<Vec<Segment>> {
            let segments = templates.0.iter().map(|template| template.template.segments());
            segments.map(|segments| segments.iter().map(without_spelling).collect()).collect()
        };
        segments(self) == segments(other)
    }

    /// Whether requests with the same key may replace each other: whether each key is of one principal,
    /// where that is meant.
    #[must_use]
    pub fn fits(&self, by: &ReplaceBy) -> bool {
        self.0.iter().all(|key| by.fits(&key.template))
    }

    /// Returns the path parameters that the keys require.
    #[must_use]
    pub fn required_parameters(&self) -> Vec<&str> {
        let required = self.placeholders().filter(|placeholder| placeholder.default.is_none());
        let parameter = |placeholder| match Source::of(placeholder) {
            Some(Source::Path(name)) => Some(name),
            _ => None,
        };
        required.filter_map(parameter).collect()
    }

    /// Whether a placeholder names a path parameter of the route.
    #[must_use]
    pub fn name_path_parameters(&self) -> bool {
        self.placeholders()
            .any(|placeholder| matches!(Source::of(placeholder), Some(Source::Path(_))))
    }

    /// Returns the request's keys, at least one.
    ///
    /// # Errors
    ///
    /// The reason why the request has no key: [`KeyRejection::missing`] if the client must send a
    /// value.
    pub fn keys(&self, values: &RequestValues<'_>) -> Result<RequestKeys, KeyRejection> {
        self.0.iter().map(|template| template.key(values)).collect()
    }
}

impl KeyTemplate {
    fn parse(source: &str) -> Result<Self, KeyTemplateError> {
        let template = Template::parse(source)
            .map_err(|error| KeyTemplateError::Template { template: source.to_owned(), error })?;
        if let Some(placeholder) =
            template.placeholders().find(|placeholder| Source::of(placeholder).is_none())
        {
            return Err(KeyTemplateError::UnknownSource {
                template: source.to_owned(),
                placeholder: placeholder.name(),
                span: placeholder.span.clone(),
            });
        }
        Ok(Self { template, source: source.to_owned().into() })
    }

    /// Returns the text of the template.
    #[cfg(feature = "file")]
    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    fn key(&self, values: &RequestValues<'_>) -> Result<RequestKey, KeyRejection> {
        let key = self.template.render(|placeholder| {
            // `parse` has rejected all other placeholders.
            let source = Source::of(placeholder).ok_or_else(|| {
                KeyRejection::misconfigured("BUG: a placeholder without a source")
            })?;
            resolve_value(placeholder, values.value(&source)?, &source)
        })?;
        Ok(RequestKey { key: LockKey::try_from(key)?, template: Some(self.source.clone()) })
    }
}

fn without_spelling(segment: &Segment) -> Segment {
    let mut segment = segment.clone();
    if let Segment::Placeholder(placeholder) = &mut segment {
        (placeholder.is_typed, placeholder.span) = (true, 0..0);
    }
    segment
}

/// Applies a placeholder's default and format to the request's value.
pub(crate) fn resolve_value<'v>(
    placeholder: &Placeholder,
    value: Option<Cow<'v, str>>,
    source: &Source<'_>,
) -> Result<Cow<'v, str>, KeyRejection> {
    let value = match (value, &placeholder.default) {
        (Some(value), _) => value,
        (None, Some(default)) => Cow::Owned(default.clone()),
        (None, None) => return Err(source.missing()),
    };
    if placeholder.hash {
        return Ok(sha256(&placeholder.canonical(&value)?).into());
    }
    Ok(value)
}
