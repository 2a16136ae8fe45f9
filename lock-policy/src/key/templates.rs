//! Computes keys from templates over a request.

use std::borrow::Cow;

use http::Method;
use lock_core::{__private::LockSpec, Kind, LockKey, Mode};
use lock_key::{Placeholder, PlaceholderType, Segment, Template};

use super::{
    RequestKey, RequestKeys,
    lock_template::{LockTemplate, TemplateLock, strongest},
    rejection::KeyRejection,
    request_values::RequestValues,
    sha256::sha256,
    source::Source,
    template_error::KeyTemplateError,
};
use crate::settings::{LockMode, LockName, ReplaceBy};

/// Templates whose placeholders all name parts of a request: at least one, all different.
#[derive(Debug)]
pub struct KeyTemplates(Vec<KeyTemplate>);

/// One template with its sources.
#[derive(Debug)]
pub(crate) struct KeyTemplate {
    template: Template,
    source: LockName,
    /// Which lock it is, of several kinds; `None` for the policy's.
    own: Option<TemplateLock>,
}

impl KeyTemplates {
    /// # Errors
    ///
    /// The first text that is not a template over a request, an empty list, or a repeated template.
    pub fn parse<'t>(sources: impl IntoIterator<Item = &'t str>) -> Result<Self, KeyTemplateError> {
        Self::new(sources.into_iter().map(|source| KeyTemplate::parse(source, None)))
    }

    /// Parses the templates of locks of several kinds.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and two templates that can give one key under two kinds of lock.
    pub fn of_locks(
        locks: impl IntoIterator<Item = LockTemplate>,
    ) -> Result<Self, KeyTemplateError> {
        let locks = locks.into_iter();
        let all = Self::new(locks.map(|lock| KeyTemplate::parse(&lock.template, Some(lock.lock))))?;
        for (nth, this) in all.0.iter().enumerate() {
            for other in &all.0[..nth] {
                if let Some(key) = other.key_of_another_kind(this) {
                    let [template, other] = [this, other].map(|key| key.source.to_string());
                    return Err(KeyTemplateError::TwoKinds { template, other, key });
                }
            }
        }
        Ok(all)
    }

    fn new(
        all: impl Iterator<Item = Result<KeyTemplate, KeyTemplateError>>,
    ) -> Result<Self, KeyTemplateError> {
        let mut templates: Vec<KeyTemplate> = Vec::new();
        for template in all {
            let template = template?;
            if templates.iter().any(|known| *known.source == *template.source) {
                return Err(KeyTemplateError::Twice { template: template.source.to_string() });
            }
            templates.push(template);
        }
        if templates.is_empty() {
            return Err(KeyTemplateError::None);
        }
        Ok(Self(templates))
    }

    /// Whether each template says by itself which lock it is.
    #[must_use]
    pub fn have_own_locks(&self) -> bool {
        self.0.iter().any(|key| key.own.is_some())
    }

    /// Returns the locks that a request with this method has, where each template says which: of the
    /// policy's own locks none.
    pub fn own_locks(&self, method: &Method) -> impl Iterator<Item = LockSpec> {
        self.0.iter().filter_map(|key| key.own_lock(method))
    }

    /// Returns the kind and the mode of each key; `None` for the policy's.
    pub fn kinds_and_modes(&self) -> impl Iterator<Item = Option<(Kind, LockMode)>> {
        self.0.iter().map(|key| key.own.map(|lock| (lock.kind, lock.mode)))
    }

    /// Returns the strongest mode of those locks; `None` if it is the policy's.
    #[must_use]
    pub fn own_mode(&self, method: &Method) -> Option<Mode> {
        self.have_own_locks().then(|| strongest(self.own_locks(method)))
    }

    /// Returns keys that these templates could give to one request; other numbers give other keys.
    #[must_use]
    pub fn sample(&self, number: usize) -> Vec<LockKey> {
        let mut names = Vec::new();
        let mut value = |placeholder: &Placeholder| {
            let name = placeholder.name();
            let nth = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            let number = number * 100 + nth;
            Ok::<_, KeyRejection>(Cow::Owned(match (placeholder.hash, placeholder.ty) {
                (true, _) => format!("{number:064x}"),
                (_, PlaceholderType::Uuid) => format!("00000000-0000-4000-8000-{number:012}"),
                _ => number.to_string(),
            }))
        };
        let keys = self.0.iter().map(|key| key.template.render(&mut value));
        keys.filter_map(|key| LockKey::try_from(key.ok()?).ok()).collect()
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
    fn parse(source: &str, own: Option<TemplateLock>) -> Result<Self, KeyTemplateError> {
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
        Ok(Self { template, source: source.to_owned().into(), own })
    }

    /// Returns a key that both can give, under two kinds of lock.
    fn key_of_another_kind(&self, other: &Self) -> Option<String> {
        let kinds = [self, other].map(|key| key.own.map(|lock| lock.kind));
        if kinds[0] == kinds[1] { None } else { self.template.common_key(&other.template) }
    }

    /// Returns which lock it is, of several kinds; `None` for the policy's.
    #[cfg(feature = "file")]
    pub(crate) fn own(&self) -> Option<TemplateLock> {
        self.own
    }

    /// Returns its own lock in a request with this method.
    pub(crate) fn own_lock(&self, method: &Method) -> Option<LockSpec> {
        self.own.map(|lock| lock.on(method))
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
        Ok(RequestKey {
            key: LockKey::try_from(key)?,
            template: Some(self.source.clone()),
            own: self.own_lock(&values.parts.method),
        })
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
