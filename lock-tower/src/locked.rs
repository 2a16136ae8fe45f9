use std::time::Duration;

use http::Extensions;
use lock_core::{FencingToken, LockGuard, LockView, LostSignal, Mode};

use crate::{
    name::Name,
    slot::{Entry, Slot},
};

/// The lock that a request is worked on under: an extractor for handlers.
///
/// It looks at the lock and holds nothing: the lock ends with the request, whatever becomes of
/// this. Of several locks around one handler it is the innermost: the attribute's, else that of
/// the layer next to the handler.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, extract::Path, routing::put};
/// use lock_tower::{LockClient, Locked, RequestLockLayer};
///
/// async fn update(Path(id): Path<u64>, lock: Locked) -> String {
///     // UPDATE orders SET ..., fence = $token WHERE id = $id AND fence < $token
///     format!("order {id} with token {}", lock.fencing_token())
/// }
///
/// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?;
/// let app: Router = Router::new().route("/orders/{id}", put(update)).route_layer(lock);
/// # Ok::<(), lock_tower::KeyTemplateError>(())
/// ```
///
/// A handler without a lock that asks for one is refused with 500 `lock-misconfigured`.
///
/// # In other extractors
///
/// An attribute takes its lock after all extractors have run. So an extractor of your own can pass
/// on the `Locked` of an attribute, but its methods panic until the handler's body runs.
#[derive(Debug, Clone)]
pub struct Locked(pub(crate) Slot);

impl Locked {
    /// The innermost lock around a request, from the request's extensions: for services without
    /// Axum.
    #[must_use]
    pub fn from_extensions(extensions: &Extensions) -> Option<Self> {
        extensions.get().cloned().map(Self)
    }

    /// A look at the lock of a guard, with a name: for calling a handler in a unit test.
    ///
    /// ```
    /// use lock_tower::{LockClient, Locked};
    ///
    /// async fn handler(lock: Locked) -> String {
    ///     lock.mode().to_string()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = LockClient::in_memory().write("order:42").acquire().await?;
    /// assert_eq!(handler(Locked::of("order-write", &guard)).await, "write");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn of(name: impl Into<String>, guard: &LockGuard) -> Self {
        let slot = Slot::default();
        slot.fill(Name::from(name.into()), guard.view());
        Self(slot)
    }

    /// The number by which a resource can refuse a holder whose time is over.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.view().fencing_token()
    }

    /// For how long the lock may still be relied upon if no renewal gets through: on this process'
    /// clock, a safety margin less than the store has it. Zero once it is lost or released.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.view().remaining()
    }

    /// The strongest mode in which the request holds the key.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.view().mode()
    }

    /// Whether the lock is held at this moment: not lost, and the request not over.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.view().is_held()
    }

    /// A future that resolves when the lock is lost: for work that the handler has spawned, which
    /// is not cancelled with it. It never resolves once the lock was released.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    pub fn lost(&self) -> LostSignal {
        self.view().lost()
    }

    /// What logs and problem documents call the lock: the layer's name, or the attribute's.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// The look at the lock itself, with all that it can tell.
    ///
    /// # Panics
    ///
    /// Before the handler's body runs.
    #[must_use]
    pub fn view(&self) -> &LockView {
        &self.entry().view
    }

    fn entry(&self) -> &Entry {
        self.0
            .get()
            .expect("`Locked` was used before the handler's body ran: its lock is not taken yet")
    }
}
