//! Which rules of policy files a request meets on its way through a router.

use axum::{Router, body::Body};
use http::Request;
use tower_service::Service;

use crate::policies::RulesFound;

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
    found.take()
}
