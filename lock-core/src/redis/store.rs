//! The locks in one Redis: which script for which step, with which keys and arguments.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use redis::{Script, ScriptInvocation, Value};
use tokio::time::Instant;

use super::{
    ears::Ears,
    link::Link,
    name::ClientName,
    names::LockNames,
    reply::{self, Reply},
    script,
    wire::Question,
};
use crate::{
    LockKey, Mode,
    backend::{
        AcquireStep, Acquired, Answer, Backend, ConvertStep, Downgraded, Holder, ReleaseStep,
        Released, RenewStep, Renewal, Standing, StoreHealth, Upgraded, Wakeups,
    },
    error::Unavailable,
    owner::OwnerId,
};

/// How long a token outlives the last grant of its key.
const TOKEN_TTL: Duration = Duration::from_secs(60 * 60);

pub(crate) struct RedisStore {
    pub(super) link: Arc<Link>,
    pub(super) ears: Arc<Ears>,
    pub(super) name: Arc<ClientName>,
    pub(super) prefix: String,
    pub(super) permanent_tokens: bool,
    pub(super) nonces: AtomicU64,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis at {}", self.link.address())
    }
}

/// A script call in the making.
struct Call<'a> {
    script: ScriptInvocation<'a>,
    nonce: String,
}

impl Call<'_> {
    fn key(mut self, key: impl redis::ToRedisArgs) -> Self {
        self.script.key(key);
        self
    }

    fn arg(mut self, arg: impl redis::ToRedisArgs) -> Self {
        self.script.arg(arg);
        self
    }

    fn ms(self, span: Duration) -> Self {
        // Rounded up: a lease is at least what was asked for.
        let ms = span.as_nanos().div_ceil(1_000_000);
        self.arg(u64::try_from(ms).unwrap_or(u64::MAX))
    }
}

impl RedisStore {
    /// Starts a call; every script's first argument is the nonce.
    fn call<'a>(&self, script: &'a Script) -> Call<'a> {
        let nonce = self.nonces.fetch_add(1, Ordering::Relaxed).to_string();
        let mut script = script.prepare_invoke();
        script.arg(&nonce);
        Call { script, nonce }
    }

    async fn ask(&self, call: Call<'_>) -> Result<Reply, Unavailable> {
        self.ask_perhaps_again(call).await.map(|(reply, _)| reply)
    }

    /// Also says whether the call may have been carried out more than once.
    async fn ask_perhaps_again(&self, call: Call<'_>) -> Result<(Reply, bool), Unavailable> {
        let question = Question::Script(&call.script);
        let check = |value: &Value| reply::answers(value, &call.nonce);
        let answered = self.link.ask(&question, check).await?;
        Ok((Reply::new(answered.answer), answered.again))
    }

    async fn command(&self, command: &redis::Cmd) -> Result<Value, Unavailable> {
        let question = Question::Command(command);
        Ok(self.link.ask(&question, |_| Ok(())).await?.answer)
    }

    fn names(&self, key: &LockKey) -> LockNames {
        LockNames::new(&self.prefix, key)
    }

    fn token_ttl(&self) -> Duration {
        if self.permanent_tokens { Duration::ZERO } else { TOKEN_TTL }
    }

    /// The lock and the owner's read keys, which most scripts begin with.
    fn lock_and_reads<'a>(&self, script: &'a Script, holder: Holder<'_>) -> (LockNames, Call<'a>) {
        let names = self.names(holder.key);
        let call = self.call(script).key(&names.lock).key(names.reads(holder.owner.as_str()));
        (names, call.arg(holder.owner.as_str()))
    }
}

impl Backend for RedisStore {
    fn acquire<'a>(&'a self, step: &'a AcquireStep<'a>) -> Answer<'a, Acquired> {
        async move {
            let mark = step.mark.unwrap_or_default();
            let call = match step.mode {
                Mode::Read => {
                    let holder = Holder { key: step.key, owner: step.owner };
                    let (names, call) = self.lock_and_reads(&script::ACQUIRE_READ, holder);
                    call.key(names.mark())
                        .key(names.token())
                        .ms(step.lease)
                        .arg(step.holds)
                        .arg(u8::from(step.yields))
                        .ms(mark)
                        .ms(step.waited)
                        .ms(self.token_ttl())
                }
                Mode::Write => {
                    let names = self.names(step.key);
                    self.call(&script::ACQUIRE_WRITE)
                        .key(&names.lock)
                        .key(names.mark())
                        .key(names.token())
                        .arg(step.owner.as_str())
                        .ms(step.lease)
                        .arg(step.holds)
                        .arg(u8::from(step.yields))
                        .ms(mark)
                        .ms(step.waited)
                        .ms(self.token_ttl())
                        .arg(&names.tag)
                }
            };
            self.ask(call).await?.acquired()
        }
        .boxed()
    }

    fn release<'a>(&'a self, step: &'a ReleaseStep<'a>) -> Answer<'a, Released> {
        async move {
            let script = match step.mode {
                Mode::Read => &script::RELEASE_READ,
                Mode::Write => &script::RELEASE_WRITE,
            };
            let (names, call) = self.lock_and_reads(script, step.holder);
            let mut call = call
                .key(names.channel())
                .key(names.mark())
                .arg(step.holds)
                .arg(u8::from(step.marked));
            if step.mode == Mode::Read {
                call = call.arg(&names.tag);
            }
            let (reply, again) = self.ask_perhaps_again(call).await?;
            Ok(match reply.released()? {
                // The second time there is nothing left to release.
                Released::Gone if again => Released::StillHeld,
                released => released,
            })
        }
        .boxed()
    }

    fn renew<'a>(&'a self, mode: Mode, steps: &'a [RenewStep<'a>]) -> Answer<'a, Vec<Renewal>> {
        async move {
            let mut call = self.call(match mode {
                Mode::Read => &script::RENEW_READ,
                Mode::Write => &script::RENEW_WRITE,
            });
            for step in steps {
                let (names, owner) = (self.names(step.holder.key), step.holder.owner.as_str());
                call = call.key(&names.lock).key(names.reads(owner)).arg(owner).ms(step.lease);
            }
            self.ask(call).await?.renewed()
        }
        .boxed()
    }

    fn upgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Upgraded> {
        async move {
            let (names, call) = self.lock_and_reads(&script::UPGRADE, step.holder);
            let call = call
                .key(names.token())
                .ms(step.lease)
                .arg(step.after.read)
                .arg(step.after.write)
                .ms(self.token_ttl())
                .arg(&names.tag);
            self.ask(call).await?.upgraded()
        }
        .boxed()
    }

    fn downgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Downgraded> {
        async move {
            let (names, call) = self.lock_and_reads(&script::DOWNGRADE, step.holder);
            let call =
                call.key(names.channel()).ms(step.lease).arg(step.after.read).arg(step.after.write);
            self.ask(call).await?.downgraded()
        }
        .boxed()
    }

    fn inspect<'a>(
        &'a self,
        key: &'a LockKey,
        owner: Option<&'a OwnerId>,
    ) -> Answer<'a, Option<Standing>> {
        async move {
            let names = self.names(key);
            let call = self
                .call(&script::INSPECT)
                .key(&names.lock)
                .arg(owner.map_or("", OwnerId::as_str))
                .arg(&names.tag);
            self.ask(call).await?.standing()
        }
        .boxed()
    }

    fn wakeups(&self, key: &LockKey) -> Wakeups {
        self.ears.listen(self.names(key).channel())
    }

    fn link(&self) -> Result<(), Unavailable> {
        self.link.check()
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        async move {
            let sent = Instant::now();
            let names = LockNames::probe(&self.prefix);
            let call = self.call(&script::INSPECT).key(&names.lock).arg("").arg(&names.tag);
            let answer = self.ask(call).await;
            StoreHealth {
                kind: "redis",
                round_trip: answer.map(|_| sent.elapsed()),
                warnings: self.name.warnings(),
            }
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            let _ = self.command(&self.name.remove()).await;
            self.link.close();
            self.ears.close();
        }
        .boxed()
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.link.close();
        self.ears.close();
    }
}
