//! The latest wins: the newest caller of a key takes it from its holder, and of those that wait it alone
//! stays.
//!
//! Each such caller first holds the *place* of the key, a second lock beside it, and only with the place
//! it waits for the key. So a holder of the key came before the holder of the place, which may request
//! its release and, later, take the key away. A caller takes the place from the one before it in the
//! same way. Within a process the newest caller ends the wait of the one before it at once
//! (`hold/newest.rs`).
//!
//! The store decides which caller has the place, and then which has the key. A request to release that
//! is lost costs time: the lock is taken away then.

use std::{future::Future, time::Duration};

use futures_util::FutureExt;
use lock_key::{MAX_DURATION, MAX_KEY_BYTES};
use lock_store::{
    InvalidOptions, LockKey, OwnerId, StoreAdmin, StoreError, Unavailable, runtime::LeaseInstant,
};
use tokio::time::{Instant, sleep, timeout};

use super::{LockClient, lockable::SingleLock, scope::Scope};
use crate::{
    guard::LockGuard,
    hold::ClientInner,
    types::{AcquireError, AcquireOptions, LostCause, Replace},
};

/// How the key of a place begins.
const PLACE: &str = "lock-replace:";

/// A free lock is granted before this is over, without a look at its holder.
const FIRST_LOOK: Duration = Duration::from_millis(2);
/// The pause between two looks at the holder: another one may have come, that is not requested yet.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// A message that was sent before an answer of the store arrives within this time after it.
const LATE_MESSAGE: Duration = Duration::from_millis(50);

/// Acquires a lock whose holder is replaced when it has not released it `after` this time. Waits at most
/// for `wait`, and for as long as the holders of the place and of the key may take.
pub(super) async fn acquire(
    lock: SingleLock,
    mut options: AcquireOptions,
    scope: Option<Scope>,
    wait: Duration,
    Replace { after, most }: Replace,
) -> Result<LockGuard, AcquireError> {
    // Every check comes before the place is acquired.
    let key = lock.clone().request(options.clone(), scope.as_ref())?.key;
    let client = lock.client.clone();
    if is_held(&client, scope.as_ref(), &key) {
        options.replace = None;
        return lock.enter(options, scope, wait).await;
    }
    let Ok(place_key) = LockKey::try_from(format!("{PLACE}{key}")) else {
        let most = MAX_KEY_BYTES - PLACE.len();
        let why = format!("a key whose holder is replaced has at most {most} bytes");
        return Err(InvalidOptions::new(why).into());
    };
    let wait = wait.min(MAX_DURATION) + 2 * (after + LOOK_AGAIN);
    let until = Instant::now() + most.map_or(wait, |most| most.min(wait));
    let left = || until.saturating_duration_since(Instant::now());
    let newest = client.inner().newest_callers.enter(&key);
    let replaced = || AcquireError::Replaced { key: key.clone() };
    let granted = async {
        let began = LeaseInstant::now();
        let holders = EarlierHolders::before_now(client.inner());
        let mut place = client.write(place_key.clone()).wait(left()).name("replace");
        (place.scope, place.options.in_order) = (None, false);
        // It is a part of an acquisition that is reported itself: metrics count that one alone.
        place.options.by_policy = true;
        place.options.max_local_handoffs = Some(0);
        // Of a caller that dies here, the key and the place are free together.
        place.options.lease = options.lease;
        let place = holders.replace_until(&place_key, after, place.acquire()).await?;
        let granted = lock.enter(options, scope, left());
        let granted = holders.replace_until(&key, after, granted);
        let guard = tokio::select! {
            biased;
            granted = granted => granted?,
            requested = stopped(&place) => return Err(requested.unwrap_or_else(replaced)),
        };
        // A newer caller may have taken the place, and its turn may be over: this one's work would come
        // after it, under a greater token. The clock shows that there was no time for that, since each
        // caller requests first, or the store does.
        if LeaseInstant::now().since(began) >= FIRST_LOOK || !place.is_held() {
            let own = place.hold().lease.owner.to_string();
            let seen = client.inner().admin()?.inspect_holders(place_key).await?;
            let holders = seen.map(|seen| seen.holders).unwrap_or_default();
            if !holders.iter().any(|it| it.owner == own) {
                // No holder: a newer caller has come and gone, whose message is here soon, or the store has lost
                // its data.
                let lost = timeout(LATE_MESSAGE, place.lost()).await;
                let lost = lost.map_or(LostCause::Refused, |lost| lost.cause());
                let unknown = Some(lost).filter(|_| holders.is_empty()).and_then(place_lost);
                return Err(unknown.unwrap_or_else(replaced));
            }
        }
        // A newer caller of this process that came before this owner had its number takes it for a
        // later one, and would not replace it.
        if newest.replaced().now_or_never().is_some() { Err(replaced()) } else { Ok(guard) }
    };
    tokio::select! {
        biased;
        () = newest.replaced() => Err(replaced()),
        granted = granted => granted,
    }
}

/// Whether the scope holds the key already, so that the acquisition is a re-entry. A lost hold is one too:
/// the re-entry reports it.
fn is_held(client: &LockClient, scope: Option<&Scope>, key: &LockKey) -> bool {
    let slot = |scope: &Scope| scope.holds().slot(client.inner().owners.client(), key);
    scope.and_then(|scope| slot(scope).hold()).is_some_and(|hold| !hold.was_released())
}

/// Resolves when the holder of a place has to give it up: for a newer caller, or with the error of a place
/// that the store has lost, after which it is not known whether a newer caller came.
async fn stopped(place: &LockGuard) -> Option<AcquireError> {
    // Nothing is sent for a lock that is free.
    sleep(FIRST_LOOK).await;
    let view = place.view();
    tokio::select! {
        lost = place.lost() => place_lost(lost.cause()),
        () = view.release_requested() => None,
    }
}

/// The error of a place that was lost; `None` if a newer caller has taken it.
fn place_lost(cause: LostCause) -> Option<AcquireError> {
    match cause {
        LostCause::Taken => None,
        cause => {
            Some(Unavailable::unsent(format!("the place of the caller was lost: {cause}")).into())
        }
    }
}

/// The holders that came before a caller.
struct EarlierHolders<'a> {
    client: &'a ClientInner,
    /// Owners of this client with this number, or greater ones, are of later acquisitions.
    now: u64,
}

impl<'a> EarlierHolders<'a> {
    fn before_now(client: &'a ClientInner) -> Self {
        let now = client.owners.next().numbered().map_or(0, |(_, number)| number);
        Self { client, now }
    }

    /// Has the holders release this key until it is `acquired`.
    async fn replace_until<T>(
        &self,
        key: &LockKey,
        after: Duration,
        acquired: impl Future<Output = Result<T, AcquireError>>,
    ) -> Result<T, AcquireError> {
        let admin = self.client.admin()?;
        tokio::select! {
            biased;
            acquired = acquired => acquired,
            failed = self.replace(admin, key, after) => Err(failed),
        }
    }

    /// Requests each holder's release once in this process, and takes the lock away from one that has not
    /// released it `after` this time. Returns the error of a store that supports neither.
    async fn replace(
        &self,
        admin: &dyn StoreAdmin,
        key: &LockKey,
        after: Duration,
    ) -> AcquireError {
        sleep(FIRST_LOOK).await;
        let requested = &self.client.newest_callers;
        loop {
            // A store that does not answer is the acquisition's to report.
            let seen = admin.inspect_holders(key.clone()).await.ok().flatten();
            let holders = seen.map(|seen| seen.holders).unwrap_or_default();
            let owners = holders.into_iter().map(|holder| holder.owner);
            let owners: Vec<_> = owners.filter(|owner| self.is_of(owner)).collect();
            let time_of = |owner: &String| requested.since(key, owner).map(|since| since.elapsed());
            let longest = owners.iter().max_by_key(|owner| time_of(owner));
            let waited = longest.and_then(time_of);
            // Each is for this holder alone: the next one may be this very caller.
            let done = match longest {
                Some(owner) if waited.is_some_and(|waited| waited >= after) => {
                    let forced = admin.force_release(key.clone(), Some(owner.clone())).await;
                    if matches!(forced, Ok(Some(_))) {
                        // A holder of this process learns it by its renewal: the store's message may
                        // come before the client listens.
                        let schedule = &self.client.schedule;
                        schedule.renew_now(schedule.leases_on(key), true);
                    }
                    forced.map(|_| LOOK_AGAIN)
                }
                _ => {
                    let left = after.saturating_sub(waited.unwrap_or_default());
                    let requested = self.request(admin, key, &owners, after).await;
                    requested.map(|()| LOOK_AGAIN.min(left).max(FIRST_LOOK))
                }
            };
            let pause = match done {
                Ok(pause) => pause,
                Err(StoreError::Unsupported(what)) => return what.into(),
                // It may refuse every command for a while.
                Err(_) => LOOK_AGAIN,
            };
            sleep(pause).await;
        }
    }

    /// Requests the release of those that are not requested yet.
    async fn request(
        &self,
        admin: &dyn StoreAdmin,
        key: &LockKey,
        owners: &[String],
        after: Duration,
    ) -> Result<(), StoreError> {
        let requested = &self.client.newest_callers;
        for owner in owners.iter().filter(|owner| requested.since(key, owner).is_none()) {
            admin.request_release(key.clone(), Some(owner.clone())).await?;
            requested.record(key, owner, owners, after);
        }
        Ok(())
    }

    /// Whether this owner is of an earlier caller.
    fn is_of(&self, owner: &str) -> bool {
        let owner = OwnerId::parse(owner);
        let of_this_client = owner.as_ref().and_then(OwnerId::numbered);
        of_this_client.is_none_or(|(client, number)| {
            client != self.client.owners.client().as_str() || number < self.now
        })
    }
}
