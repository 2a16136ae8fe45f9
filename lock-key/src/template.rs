use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::{
    KeyWriter, MAX_KEY_BYTES, Placeholder, TemplateError, ValueError, ambiguity, common_key, lexer,
};

/// A checked key template.
///
/// A valid template can be rendered with any values of the right types, and different values give
/// different keys. The grammar is in the [crate's documentation](crate).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    segments: Vec<Segment>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Text that is the same in every key, with single literal braces. Never empty, and never beside
    /// another literal.
    Literal(String),
    /// A place for a value.
    Placeholder(Placeholder),
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// [`TemplateError`], with the place in `source` and what would be valid there.
    ///
    /// # Examples
    ///
    /// ```
    /// use lock_key::Template;
    ///
    /// assert!(Template::parse("order:{id}").is_ok());
    ///
    /// let error = Template::parse("order:{id:int}").unwrap_err();
    /// assert_eq!(error.span(), 10..13);
    /// ```
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let segments = lexer::segments(source)?;
        ambiguity::check(&segments)?;
        Ok(Self { source: source.to_owned(), segments })
    }

    /// Returns the text that the template was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the pieces, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the placeholders, in order; a name written twice comes twice.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder(placeholder) => Some(placeholder),
            Segment::Literal(_) => None,
        })
    }

    /// Returns the shortest key that both templates can give, for some values each; `None` if there is
    /// none.
    ///
    /// # Examples
    ///
    /// ```
    /// use lock_key::Template;
    ///
    /// let common = |one, other| {
    ///     Ok::<_, lock_key::TemplateError>(Template::parse(one)?.common_key(&Template::parse(other)?))
    /// };
    /// assert_eq!(common("user-{id}", "user-{id}-cart")?.as_deref(), Some("user-1-cart"));
    /// assert_eq!(common("user:{id}", "user:{id}:cart")?, None);
    /// # Ok::<(), lock_key::TemplateError>(())
    /// ```
    pub fn common_key(&self, other: &Self) -> Option<String> {
        let key = common_key::common_key(&self.segments, &other.segments)?;
        (key.len() <= MAX_KEY_BYTES).then_some(key)
    }

    /// Builds the key from the values that `resolve` returns, called for each placeholder in order.
    ///
    /// `resolve` applies the options: it returns the [default](Placeholder::default) for a missing value, and
    /// for a [hashed](Placeholder::hash) placeholder the SHA-256 of the value's [canonical](Placeholder::canonical)
    /// spelling, as 64 lower-case hex digits.
    ///
    /// # Errors
    ///
    /// [`RenderError::Resolve`] with the first error of `resolve`, [`RenderError::Value`] if a
    /// value is invalid for its placeholder or the key becomes too long.
    pub fn render<'v, E>(
        &self,
        mut resolve: impl FnMut(&Placeholder) -> Result<Cow<'v, str>, E>,
    ) -> Result<String, RenderError<E>> {
        let mut writer = KeyWriter::new();
        for segment in &self.segments {
            match segment {
                Segment::Literal(text) => writer.literal(text),
                Segment::Placeholder(placeholder) => {
                    let value = resolve(placeholder).map_err(RenderError::Resolve)?;
                    if placeholder.hash {
                        writer.digest(&placeholder.borrowed_name(), &value)?;
                    } else {
                        writer.value(&placeholder.borrowed_name(), placeholder.ty, &value)?;
                    }
                }
            }
        }
        Ok(writer.finish()?)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(source: &str) -> Result<Self, TemplateError> {
        Self::parse(source)
    }
}

/// The reason why a template could not be rendered. No lock was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenderError<E> {
    /// The value of a placeholder could not be found.
    Resolve(E),
    /// A value is invalid for its placeholder, or the key becomes too long.
    Value(ValueError),
}

impl<E> From<ValueError> for RenderError<E> {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

impl<E: fmt::Display> fmt::Display for RenderError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve(error) => error.fmt(f),
            Self::Value(error) => error.fmt(f),
        }
    }
}

impl<E: Error> Error for RenderError<E> {
    // Both variants have the text of the error they hold, so the source chain continues after it.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Resolve(error) => error.source(),
            Self::Value(error) => error.source(),
        }
    }
}
