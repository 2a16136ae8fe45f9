use std::{collections::BTreeMap, fmt, sync::Arc};

use http::request::Parts;

type Claims = dyn Fn(&Parts, &str) -> Option<String> + Send + Sync;
type Extension = dyn Fn(&Parts) -> Option<String> + Send + Sync;

/// The sources of `{claim.x}` and `{ext.x}` in key templates.
///
/// Both are values of the service, which an outer layer has put into the request's extensions: the
/// claims of a verified token, or the tenant that was looked up. A request that lacks one is
/// answered 500 `lock-misconfigured`, unless the template has a default.
///
/// Default: no sources.
///
/// # Examples
///
/// ```
/// use lock_policy::KeyValues;
///
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// let values = KeyValues::new()
///     .extension("tenant", |parts| parts.extensions.get::<Tenant>().map(|t| t.0.clone()));
/// # let _ = values;
/// ```
#[derive(Clone, Default)]
pub struct KeyValues {
    claims: Option<Arc<Claims>>,
    extensions: BTreeMap<String, Arc<Extension>>,
}

impl KeyValues {
    /// Creates an empty set of sources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the source of `{claim.x}`. `claims` is called with the request and `x`, once per
    /// request for each such placeholder. A dotted name, as in `{claim.realm.role}`, is passed as
    /// written. Replaces an earlier source.
    #[must_use]
    pub fn claims(
        mut self,
        claims: impl Fn(&Parts, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// Sets the source of `{ext.name}`. Replaces an earlier source for that name.
    #[must_use]
    pub fn extension(
        mut self,
        name: &str,
        value: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.extensions.insert(name.to_owned(), Arc::new(value));
        self
    }

    pub(crate) fn claim(&self, parts: &Parts, name: &str) -> Option<String> {
        self.claims.as_ref().and_then(|claims| claims(parts, name))
    }

    pub(crate) fn of_extension(&self, parts: &Parts, name: &str) -> Option<String> {
        self.extensions.get(name).and_then(|value| value(parts))
    }
}

impl fmt::Debug for KeyValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValues")
            .field("claims", &self.claims.is_some())
            .field("extensions", &self.extensions.keys())
            .finish()
    }
}
