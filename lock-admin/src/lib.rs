//! A page for operators: which locks are held, by which process and for which work, and which
//! requests wait.
//!
//! Users of the crate `lock-tower` enable its feature `admin`, and find this crate as `lock_tower::admin`.
//!
//! [`router`] returns it; mount it **behind your own authentication**, as any route that shows what
//! a service works on:
//!
//! ```
//! use axum::Router;
//! use lock_core::LockClient;
//!
//! # async fn nothing() {}
//! # fn behind_login(router: Router) -> Router { router }
//! let locks = LockClient::in_memory();
//! let admin = lock_admin::router(locks.clone()).allow_release().into_unprotected_router();
//! let app: Router = Router::new().nest("/admin/locks", behind_login(admin));
//! ```
//!
//! # Contents
//!
//! A list of locks with kind, mode, holder, age, the time left and the waiters; each lock's own page
//! with all holders and its line in order; a search by prefix; deadlocks between the locks shown; the
//! longest waits of the locks shown; the keys that acquisitions found taken most often, in this process
//! and in those that hold these locks or wait for them; and the holds, refusals and losses of this process
//! in the last quarter of an hour. The list works without JavaScript. With it, the page is renewed every
//! two seconds by server-sent events, and can be sorted by each column.
//!
//! It is a view, not the truth: what it shows may have changed by the time it is read.
//!
//! # Load on the store
//!
//! Nothing while it is not open. A page of the list is one page of
//! [`LockClient::list_page`], with a hundred locks unless the query has `limit`, at most 500; on Redis
//! then one command for each lock, and one for each of its participants and their clients. Requests of
//! one process take turns, and share what was read within the last second. So ten open pages cost no
//! more than one. Above ten reads in a second further ones are answered 429, except the list without a
//! prefix, and so are event streams above 32.
//!
//! # Taking locks away
//!
//! After [`allow_release`](AdminRouter::allow_release) a lock's page can request its holders to release
//! it, and take it away by force. Both are refused unless the request has the header `x-lock-admin:
//! release`. A form of another site cannot send it, and a script there would need a permission
//! (CORS) that this router never gives; nor one whose `Origin` is another host than the request's. So a
//! browser that is logged in cannot be made to release a lock. Name the page's host by
//! [`allowed_hosts`](AdminRouter::allowed_hosts) where it is reached without TLS: otherwise a name of an
//! attacker that DNS leads to the service makes another site one of the same origin.
//!
//! [`authorize`](AdminRouter::authorize) decides of each request, by its key and action, and names the
//! operator in the log.
//!
//! # Rights in the store
//!
//! The list needs the right to `SCAN` on Redis, which shows the names of all keys. Services need
//! not have it: give the page a separate client with a separate user.
//!
//! ```no_run
//! # use lock_core::LockClient;
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "redis://operator:secret@redis.internal/";
//! let locks = LockClient::builder().check_rights(false).connect(url).await?;
//! let page = lock_admin::router(locks);
//! # drop(page);
//! # Ok(()) }
//! ```
//!
//! # As JSON
//!
//! With `?format=json`, or `Accept: application/json`, the list and each lock are JSON documents;
//! `?format=schema` is their schema. A release is a `POST` with that header and
//! `{"key": "order:42", "action": "request" | "force"}`.
//!
//! | query | meaning |
//! |---|---|
//! | `key` | one lock instead of the list |
//! | `prefix` | only locks whose keys begin with it |
//! | `limit` | about how many locks a page has: 1 to 500, 100 by default |
//! | `after` | `next` of the page before |
//! | `format` | `html`, `json`, `events` (server-sent), `schema` |

mod access;
mod answer;
mod deadlock;
mod list_view;
mod live;
mod lock_view;
mod plot;
mod query;
mod reader;
mod release;
mod shell;
mod table;
mod times;
mod view;

use std::sync::Arc;

use axum::{Router, middleware::map_response, routing::get};
use lock_core::LockClient;

use access::Access;
use reader::Reader;

pub use access::{AdminAction, AdminRequest};

/// A page for operators on the locks of `client`, under its prefix: see the crate. Read-only
/// unless [`AdminRouter::allow_release`] is called.
pub fn router(client: LockClient) -> AdminRouter {
    AdminRouter { client, release_allowed: false, access: Access::default() }
}

/// A page for operators that is being set up: from [`router`].
#[derive(Debug, Clone)]
#[must_use = "the page is mounted with `into_unprotected_router`"]
pub struct AdminRouter {
    client: LockClient,
    release_allowed: bool,
    access: Access,
}

impl AdminRouter {
    /// Lets the page request holders to release a lock, and take it away by force. Default: it cannot.
    ///
    /// Every request that reaches the router may do so then. To let some operators only look, mount two
    /// routers behind different authentication.
    pub fn allow_release(mut self) -> Self {
        self.release_allowed = true;
        self
    }

    /// Sets the function that authorizes each request: it returns the name of the operator, or the
    /// reason of the refusal, which the 403 shows. Each action is logged with that name and the
    /// key. Default: every request passes.
    ///
    /// ```
    /// use axum::Router;
    /// use lock_admin::AdminAction;
    /// use lock_core::LockClient;
    ///
    /// /// Put into the request by the authentication layer outside.
    /// #[derive(Clone)]
    /// struct Operator { name: String, may_force: bool }
    ///
    /// let page = lock_admin::router(LockClient::in_memory()).allow_release().authorize(|request| {
    ///     let operator = request.parts.extensions.get::<Operator>().ok_or("log in first")?;
    ///     match request.action {
    ///         AdminAction::Force if !operator.may_force => Err("you may only look".to_owned()),
    ///         _ => Ok(operator.name.clone()),
    ///     }
    /// });
    /// let app: Router = Router::new().nest("/admin/locks", page.into_unprotected_router());
    /// ```
    pub fn authorize<F>(mut self, authorize: F) -> Self
    where
        F: Fn(&AdminRequest<'_>) -> Result<String, String> + Send + Sync + 'static,
    {
        self.access.authorize = Some(Arc::new(authorize));
        self
    }

    /// Sets the hosts of the page, without ports: a request for another one is answered 403. Default: any.
    pub fn allowed_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.access.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the routes, to be nested at the path of the page, behind an authentication layer:
    /// they have no authentication.
    pub fn into_unprotected_router<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let reader = Arc::new(Reader::new(self.client, self.release_allowed, self.access));
        Router::new()
            .route("/", get(view::view).post(release::release))
            .layer(map_response(answer::of_this_moment))
            .with_state(reader)
    }
}
