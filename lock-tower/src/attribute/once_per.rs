//! Jobs that succeed once per slot: `once_per`.

use std::future::Future;

use lock_core::{
    __private::{Slots, ValueError, slot},
    LockClient, LockError, LockKey,
};
use lock_policy::{__private::RequestKeys, Outcome};

use super::{
    declared::DeclaredLock,
    function::{NotFinished, is_busy, run},
};
use crate::{
    enforcement::split::split, lock_settings::policy::Policy, request::context::RequestContext,
    telemetry::record,
};

/// Runs a job's body as [`run`] does, unless it has succeeded in this slot, or is being run: then it returns
/// `None`. A body that returns `Ok` has succeeded.
///
/// # Errors
///
/// See [`LockError`].
///
/// # Cancel safety
///
/// Dropping the future drops the body and releases the locks in the background. The slot is not marked.
pub async fn run_once_per<T, E>(
    client: &LockClient,
    lock: &DeclaredLock,
    slots: Slots,
    keys: impl IntoIterator<Item = Result<String, ValueError>>,
    body: impl Future<Output = Result<T, E>>,
) -> Result<Option<Result<T, E>>, Box<NotFinished>> {
    let body = Box::pin(body);
    let keys: Vec<_> = keys.into_iter().collect();
    let context = RequestContext::ambient();
    let context = context.unwrap_or_else(|| RequestContext::of(client.scope()));
    let (policy, mode) = lock.in_force(context.attributes.as_ref());
    // Without its lock nothing keeps two runs apart, and no slot is marked. An invalid key is reported by
    // `run`.
    let Some(key) = enforced_key(&policy, &keys) else {
        return Box::pin(run(client, lock, keys, body)).await.map(Some);
    };
    let not_finished = |error: LockError| {
        NotFinished::new(error, &policy, mode, &context.caller, RequestKeys::new())
    };
    let mut job = client.write(key).kind(policy.kind.unwrap_or_default());
    if let Some(lease) = policy.settings.lease {
        job = job.lease(lease);
    }
    let mark = match slot::acquire_mark(&job.once_per(slots)).await {
        Ok(Some(mark)) => mark,
        Ok(None) => {
            record::refused(&policy.name, mode, Outcome::Skipped, false);
            return Ok(None);
        }
        Err(why) => {
            record::refused(&policy.name, mode, Outcome::from(&why), false);
            return Err(not_finished(why.into()));
        }
    };
    let counted = slot::run_attempt(&mark, body);
    match slot::protect(&mark, run(client, lock, keys, counted)).await {
        Err(lost) => Err(not_finished(lost.into())),
        Ok(Err(busy)) if is_busy(&busy) => Ok(None),
        Ok(Err(not_finished)) => Err(not_finished),
        Ok(Ok(Err(not_counted))) => Err(not_finished(not_counted.into())),
        Ok(Ok(Ok(result))) => {
            match &result {
                Ok(_) => slot::keep(mark).await,
                Err(_) => slot::release(mark).await,
            }
            Ok(Some(result))
        }
    }
}

/// Returns the key of the job, if its lock is enforced.
fn enforced_key(policy: &Policy, keys: &[Result<String, ValueError>]) -> Option<LockKey> {
    let [Ok(key)] = keys else { return None };
    let key = LockKey::try_from(key.clone()).ok()?;
    let is_enforced = !split(policy.enforce(), &[key.clone().into()]).enforced.is_empty();
    is_enforced.then_some(key)
}
