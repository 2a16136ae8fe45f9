use std::{collections::BTreeMap, fmt, sync::Arc};

use http::request::Parts;

type Claims = dyn Fn(&Parts, &str) -> Option<String> + Send + Sync;
type Extension = dyn Fn(&Parts) -> Option<String> + Send + Sync;

/// Where `{claim.x}` and `{ext.x}` of key templates come from.
///
/// Both are the service's own values, which an outer layer has put into the request's extensions:
/// the claims of a token that was verified, the tenant that was looked up. So a request without one
/// is answered 500 `lock-misconfigured`, unless the template has a default for it.
///
/// Default: none are known.
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
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has `claims` give the values of `{claim.x}`: called with the request and `x`, for each such
    /// placeholder once per request. A dotted name, as in `{claim.realm.role}`, comes as it is written.
    /// Replaces what was given before.
    #[must_use]
    pub fn claims(
        mut self,
        claims: impl Fn(&Parts, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// Has `value` give the value of `{ext.name}`. Replaces what was given for that name before.
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
