//! Which rules of policy files a request meets on its way through a router.

use std::sync::Arc;

use axum::{Router, body::Body};
use http::{Request, request::Parts};
use lock_core::__private::Mutex;
use tower_service::Service;

/// An extension of the request, with which each policy layer leaves the name of its rule.
#[derive(Clone, Default)]
struct RulesFound(Arc<Mutex<Vec<Option<String>>>>);

/// Sends a request through a router. Returns, for each policy layer that the request reached, the name of
/// the rule that applied, the outermost layer first; `None` if no rule of that layer matched. An empty
/// list: the request reached no layer, as that of a route that is added after
/// [`route_layer`](Router::route_layer).
///
/// The handler runs, under the locks of these rules.
///
/// ```
/// use axum::{Router, body::Body, routing::put};
/// use http::Request;
/// use lock_tower::{LockClient, policies::Policies, testing};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let file = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\nkey = \"order:{id:u64}\"";
/// let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", file)?;
/// let app: Router = Router::new()
///     .route("/orders/{id}", put(|| async { "changed" }))
///     .route_layer(policies.layer());
/// let rules = testing::rules_of(app, Request::put("/orders/7").body(Body::empty())?).await;
/// assert_eq!(rules, [Some("order".to_owned())]);
/// # Ok(()) }
/// ```
pub async fn rules_of(mut router: Router, mut request: Request<Body>) -> Vec<Option<String>> {
    let found = RulesFound::default();
    request.extensions_mut().insert(found.clone());
    let Ok(_) = router.call(request).await;
    std::mem::take(&mut *found.0.lock())
}

/// Notes the rule that a layer has found for a request.
pub(crate) fn rule_found(parts: &Parts, rule: Option<&str>) {
    if let Some(found) = parts.extensions.get::<RulesFound>() {
        found.0.lock().push(rule.map(str::to_owned));
    }
}
