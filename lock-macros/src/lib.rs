//! The attribute of lock-tower: [`macro@distributed_lock`].
//!
//! Services use it through `lock_tower`, which re-exports it and has what the generated code calls.
//! From the outside in: `args` parses the options, and `item` the function without its body. Both
//! give a `model`, in which every placeholder of the key is an argument. `validate` checks its rules,
//! and `expand` generates the function that the compiler sees. An error on the way becomes one
//! compiler error (`error_output`).

use proc_macro::TokenStream;

mod args;
mod bindings;
mod body;
mod client_source;
mod duration;
mod error_output;
mod expand;
mod item;
mod key;
mod key_list;
mod kind;
mod literal_span;
mod model;
mod names;
mod permits;
mod spec;
mod suggest;
mod validate;

/// Runs an async function under a distributed lock.
///
/// The key is computed from the function's arguments, the lock is acquired, the body runs, and the
/// lock is released when the body ends, however it ends. While the body runs the lock is renewed. If
/// the lock is lost nevertheless, the body is cancelled at its next `.await` and the caller gets an
/// error.
///
/// ```
/// use axum::extract::Path;
/// use lock_tower::distributed_lock;
///
/// #[distributed_lock(key = "order:{id}", wait = "2s")]
/// async fn update(Path(id): Path<u64>) -> String {
///     format!("order {id} is ours alone")
/// }
/// # let _ = axum::Router::<()>::new().route("/order/{id}", axum::routing::get(update));
/// ```
///
/// # On a handler
///
/// Without `client`, the function is an Axum handler and the lock's client is that of the layer
/// around its route. With `client = state` it comes from the router's state, by `FromRef`.
///
/// The handler returns a response: its own, or a refusal if the lock is busy, lost or unavailable. So
/// its return type need not know of locks.
///
/// ```
/// use axum::extract::{FromRef, Path, State};
/// use axum::http::StatusCode;
/// use lock_tower::{LockClient, distributed_lock};
///
/// #[derive(Clone)]
/// struct App {
///     locks: LockClient,
/// }
///
/// impl FromRef<App> for LockClient {
///     fn from_ref(app: &App) -> Self {
///         app.locks.clone()
///     }
/// }
///
/// #[distributed_lock(key = "order:{id}", client = state)]
/// async fn cancel(State(_app): State<App>, Path(id): Path<u64>) -> Result<(), StatusCode> {
///     if id == 0 {
///         return Err(StatusCode::NOT_FOUND);
///     }
///     Ok(())
/// }
/// # let _ = axum::Router::<App>::new().route("/order/{id}", axum::routing::delete(cancel));
/// ```
///
/// The lock is acquired after the extractors have run, so the request's body has been read by then.
///
/// # On any other function
///
/// With `client = <expression>` the function keeps its signature. It returns a `Result` whose error
/// implements `From<LockError>`, for a lock that was not acquired, or was lost.
///
/// ```
/// use lock_tower::{LockClient, LockError, distributed_lock};
///
/// struct Stock {
///     locks: LockClient,
///     shop: String,
/// }
///
/// impl Stock {
///     #[distributed_lock(key = "stock:{self.shop}:{sku}", client = self.locks)]
///     async fn count(&self, sku: &str) -> Result<usize, LockError> {
///         Ok(sku.len())
///     }
/// }
/// ```
///
/// The expression is a [`LockClient`], or a reference or pointer to one. It sees the arguments,
/// and is evaluated once per call, before the body takes them. The bare word `state` always
/// means the router's state; a variable of that name is written `client = &state`.
///
/// # Options
///
/// | option | value | default |
/// |---|---|---|
/// | `key` | the template of the key, a string literal | none: `key` or `keys` is required |
/// | `keys` | the templates of [several keys](#several-keys), all of them or none | |
/// | `mode` | `"read"` or `"write"` | `"write"` |
/// | `kind` | `"read_write"`, `"fair_read_write"`, `"reentrant"`, `"non_reentrant"`, `"fair"`, `"fenced"` or `"semaphore"`: see [`Kind`] | `"read_write"` |
/// | `permits` | how many permits a semaphore has: at most so many calls run at once | none: required with `kind = "semaphore"` |
/// | `weight` | how many of its permits a call takes | `1` |
/// | `wait` | how long to wait for other holders; `"0s"` tries once | the client's |
/// | `lease` | how long the lock stays held after its process died, at least `"100ms"` | the client's |
/// | `max_hold` | when a lock that is still held counts as lost, at least `"100ms"` | no limit |
/// | `hold_at_least` | how long the lock stays held from the grant, although the body ends earlier | `"0s"` |
/// | `on_busy` | `"skip"`: the body does not run while the lock is busy: [jobs](#jobs) | an error, or a handler's 423 |
/// | `renew` | `false`: the lock is lost when its first lease ends | `true` |
/// | `name` | the lock's name in policy files, logs and metrics | module and function, such as `shop::orders::update` |
/// | `client` | `state`, or an expression | the layer's client |
/// | `crate` | the path of the library, if not `::lock_tower` | `::lock_tower` |
///
/// A duration is a whole number and a unit, `ms`, `s`, `m` or `h`, of at most 365 days.
///
/// ```
/// use axum::extract::Path;
/// use lock_tower::distributed_lock;
///
/// #[distributed_lock(
///     key = "report:{id}",
///     mode = "read",
///     wait = "0s",
///     lease = "10s",
///     max_hold = "5m",
///     renew = true,
///     name = "report-read"
/// )]
/// async fn report(Path(id): Path<u64>) -> String {
///     format!("report {id}")
/// }
/// # let _ = axum::Router::<()>::new().route("/report/{id}", axum::routing::get(report));
/// ```
///
/// A crate that has the library under another path sets it:
///
/// ```
/// mod prelude {
///     pub use lock_tower as locks;
/// }
///
/// use prelude::locks::{LockClient, LockError, distributed_lock};
///
/// #[distributed_lock(key = "night-job", client = client, crate = crate::prelude::locks)]
/// async fn run(client: &LockClient) -> Result<(), LockError> {
///     Ok(())
/// }
/// # fn main() {}
/// ```
///
/// # Jobs
///
/// A job that every replica starts at the same time is to run once. With `on_busy = "skip"` the body
/// does not run while another replica has the lock: the function returns `Ok(None)`, so its type is
/// `Result<Option<T>, E>`. Every other error stays one. With `hold_at_least` the lock stays held for that long,
/// so that a replica whose clock is behind finds it held, although the job was done in a moment.
///
/// ```
/// use lock_tower::{LockClient, LockError, distributed_lock};
///
/// #[distributed_lock(
///     key = "nightly-report",
///     client = locks,
///     wait = "0s",
///     on_busy = "skip",
///     hold_at_least = "1m"
/// )]
/// async fn nightly_report(locks: &LockClient) -> Result<Option<usize>, LockError> {
///     Ok(Some(7))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), LockError> {
/// let locks = LockClient::in_memory();
/// assert_eq!(nightly_report(&locks).await?, Some(7));
/// assert_eq!(nightly_report(&locks).await?, None);
/// # Ok(()) }
/// ```
///
/// # The key
///
/// A placeholder names a binding of an argument's pattern, or a field of it. It takes integers, `bool`,
/// `char`, strings, and your own types that implement `KeyPart`; never floats, and never an
/// `Option`. Values are percent-encoded, so that no value can forge another key.
///
/// A type in the placeholder makes all spellings of a value one key, and refuses other values:
/// `{id:u64}`, `{id:i64}`, `{id:uuid}`, `{name:lower}`. The placeholder `{id:uuid}` takes any value
/// that displays as a UUID. `{{` and `}}` are literal braces, for a Redis hash tag.
///
/// ```
/// use axum::{Json, extract::Path};
/// use lock_tower::distributed_lock;
///
/// #[derive(serde::Deserialize)]
/// struct Transfer {
///     from: String,
/// }
///
/// #[distributed_lock(key = "bank:{{{bank:lower}}}:account:{transfer.from}")]
/// async fn transfer(Path(bank): Path<String>, Json(transfer): Json<Transfer>) -> String {
///     format!("{} at {bank}", transfer.from)
/// }
/// # let _ = axum::Router::<()>::new().route("/{bank}", axum::routing::post(transfer));
/// ```
///
/// A placeholder that names no argument does not compile:
///
/// ```compile_fail
/// use axum::extract::Path;
/// use lock_tower::distributed_lock;
///
/// #[distributed_lock(key = "order:{oder_id}")]
/// async fn update(Path(order_id): Path<u64>) {}
/// ```
///
/// The message: `` `oder_id` is not an argument of `update`; available: order_id; did you mean
/// `order_id`? ``
///
/// # Several keys
///
/// `keys` names several keys, in one mode and kind. The body runs when all of them are held. None is
/// held in the store while another is waited for. (In a cluster that needs a common hash tag;
/// otherwise they are acquired in one fixed order.) So two functions that name the same keys in
/// different orders do not wait for each other forever. Keys that are equal at a call are locked once.
/// Each has its own fencing token.
///
/// ```
/// use axum::extract::Path;
/// use lock_tower::{Locked, distributed_lock};
///
/// #[distributed_lock(keys = ["account:{from}", "account:{to}"], kind = "fair")]
/// async fn transfer(Path((from, to)): Path<(u64, u64)>, lock: Locked) -> String {
///     let token = lock.fencing_token_of(&format!("account:{from}"));
///     format!("{from} pays {to} under token {token:?}")
/// }
/// # let _ = axum::Router::<()>::new().route("/pay/{from}/{to}", axum::routing::post(transfer));
/// ```
///
/// # Kinds
///
/// All users of a key, in every service, must use the same kind. A kind without readers has
/// no `mode = "read"`, and needs no `mode`:
///
/// ```
/// use axum::extract::Path;
/// use lock_tower::distributed_lock;
///
/// #[distributed_lock(key = "ticket:{id}", kind = "fair", wait = "10s")]
/// async fn buy(Path(id): Path<u64>) -> String {
///     format!("ticket {id}: first come, first served")
/// }
/// # let _ = axum::Router::<()>::new().route("/ticket/{id}", axum::routing::post(buy));
/// ```
///
/// ```compile_fail
/// use axum::extract::Path;
/// use lock_tower::distributed_lock;
///
/// #[distributed_lock(key = "ticket:{id}", kind = "fair", mode = "read")]
/// async fn look(Path(id): Path<u64>) {}
/// ```
///
/// # Beside other attributes
///
/// It may be above or below `#[axum::debug_handler]`, with one exception: with `client = state` on a
/// handler without arguments it must be above, because it adds an argument there. If `State` is a
/// handler's only argument and `#[debug_handler]` is below, name the type there:
/// `#[debug_handler(state = App)]`.
///
/// With `#[tracing::instrument]` below, the span covers the wait for the lock and the work; with
/// `#[tracing::instrument]` above, the work alone.
///
/// It does not work on a method under `#[async_trait]`, because that method is no longer an `async fn`
/// when the attribute sees it. Let the method call a locked function.
///
/// [`Kind`]: https://docs.rs/lock-tower/latest/lock_tower/enum.Kind.html
/// [`LockClient`]: https://docs.rs/lock-tower/latest/lock_tower/struct.LockClient.html
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    let original = item.clone();
    locked(args, item).unwrap_or_else(|error| error_output::expand(original.into(), &error).into())
}

fn locked(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let item = syn::parse(item)?;
    let args = syn::parse(args)?;
    let locked = model::LockedFn::new(args, item)?;
    locked.validate()?;
    Ok(expand::expand(locked).into())
}
