use lock_core::LockClient;
use lock_policy::{
    __private::{KeyTemplates, PathParameters, RequestValues, Source},
    KeyRejection, KeyTemplateError, KeyValues, OnMissingKey,
};
use tower_sessions_core::{Session, session::Id};

use super::RequestLockLayer;

const INSIDE: &str = "the lock is inside the session layer, which saves the session only after the \
                      release: add the lock layer after the session layer, so that it is outside";

impl RequestLockLayer {
    /// Creates a layer that locks the session of each request, so that two tabs of one browser do
    /// not overwrite each other's changes. For [tower-sessions]: `cookie` is the name of its cookie,
    /// which is `id` unless set by `with_name`.
    ///
    /// Requests that only read share a session; a request that changes it runs alone. That is
    /// decided [by its method](crate::settings::LockMode::ByMethod) before it begins: where a `GET` changes
    /// the session, give its route another layer with [`mode(LockMode::Write)`](Self::mode).
    ///
    /// It has to be outside of the session's layer, which loads and saves the session: elsewhere
    /// each request is answered 500 `lock-misconfigured`. A request without the cookie has no
    /// session yet, and runs without a lock. One with two cookies of this name is answered 400. The
    /// cookie is [read as tower-sessions reads it](Self::new), and the key is a hash of the session's
    /// id, so that nothing in the store can be used as a session. Of a signed cookie it is a hash of
    /// its value. A cookie that is *encrypted* has another value each time it is set, although the
    /// session is the same: sign cookies instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use lock_tower::{LockClient, RequestLockLayer};
    /// use tower_sessions::{MemoryStore, Session, SessionManagerLayer};
    ///
    /// async fn show(session: Session) -> String {
    ///     let cart: Vec<String> = session.get("cart").await.ok().flatten().unwrap_or_default();
    ///     cart.join(", ")
    /// }
    ///
    /// async fn add(session: Session, item: String) {
    ///     let mut cart: Vec<String> = session.get("cart").await.ok().flatten().unwrap_or_default();
    ///     cart.push(item);
    ///     session.insert("cart", cart).await.ok();
    /// }
    ///
    /// let app: Router = Router::new()
    ///     .route("/cart", get(show).post(add))
    ///     .layer(SessionManagerLayer::new(MemoryStore::default()))
    ///     .layer(RequestLockLayer::session(LockClient::in_memory(), "id")?);
    /// # Ok::<(), lock_tower::KeyTemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`KeyTemplateError`] when the name cannot be part of a template.
    ///
    /// [tower-sessions]: https://docs.rs/tower-sessions
    pub fn session(client: LockClient, cookie: &str) -> Result<Self, KeyTemplateError> {
        // Refuses a name that cannot be part of a template.
        KeyTemplates::parse([&*format!("{{cookie.{cookie}}}")])?;
        let template = KeyTemplates::parse(["session:{id|hash}"])?;
        let cookie = Source::Cookie(cookie.to_owned());
        let none = KeyValues::default();
        let layer = Self::with_keys(client, move |parts| {
            if parts.extensions.get::<Session>().is_some() {
                return Err(KeyRejection::misconfigured(INSIDE));
            }
            let values = RequestValues { parts, path: PathParameters::new(), registered: &none };
            let value = values.value(&cookie)?.ok_or_else(|| cookie.missing())?;
            // The session has this id, whatever its spelling. A signed or encrypted value has none
            // that is readable here.
            let id = value.parse::<Id>().map_or(value, |id| id.to_string().into());
            let keys = template.keys(&RequestValues {
                path: PathParameters::from_iter([("id", &*id)]),
                ..values
            })?;
            Ok(keys.into_iter().map(|key| key.key).collect::<Vec<_>>())
        });
        Ok(layer.name("session").on_missing_key(OnMissingKey::Skip))
    }
}
