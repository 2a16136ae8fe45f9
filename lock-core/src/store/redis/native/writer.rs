//! One task that sends what needs no whole script: tries at free locks, and releases. What is ready at
//! the same moment goes to Redis together.
//!
//! A release is sent after the try that it may have to undo, even if the caller of that try is gone:
//! both go through this task's queue, and what it takes from the queue together it sends in this
//! order, over one connection.

use std::sync::Arc;

use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use redis::Value;
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::Instant,
};

use super::{counter::Counter, encode::NativeWire, refusals::Refusals};
use crate::{
    runtime::Tasks,
    store::{
        AcquireCommand, ReleaseCommand, Released,
        redis::{
            connection::Failure,
            dispatcher::Dispatcher,
            protocol::{Request, decode},
        },
    },
    types::{FencingToken, Kind, Unavailable},
};

/// The most commands of a kind in one write: Redis answers nothing else meanwhile.
const MAX_BATCH: usize = 64;

/// The outcome of a try at a free lock.
#[derive(Debug)]
pub(crate) enum Tried {
    Granted(FencingToken),
    /// Nothing was acquired: the key is there.
    Refused,
    /// A script must find out: the try may not have been sent, or its token may not be used.
    Unknown,
    Failed(Unavailable),
}

struct Try {
    command: AcquireCommand,
    answer: oneshot::Sender<Tried>,
}

struct Release {
    command: ReleaseCommand,
    answer: oneshot::Sender<Result<(Released, bool), Unavailable>>,
}

enum Pending {
    Try(Try),
    Release(Release),
}

/// The sending end. The task ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer(mpsc::UnboundedSender<Pending>);

impl Writer {
    pub(crate) fn start(
        wire: Arc<NativeWire>,
        dispatcher: Arc<Dispatcher>,
        refusals: Arc<Refusals>,
        tasks: &Tasks,
    ) -> Self {
        let (queue, pending) = mpsc::unbounded_channel();
        let batches = Batches { wire, dispatcher, refusals };
        let pending = Arc::new(Mutex::new(pending));
        tasks.spawn_supervised(move || {
            let (batches, pending) = (batches.clone(), Arc::clone(&pending));
            async move { batches.run(&mut *pending.lock().await).await }
        });
        Self(queue)
    }

    pub(crate) async fn try_free(&self, command: AcquireCommand) -> Tried {
        let (answer, answered) = oneshot::channel();
        // Without the task the client is shut down, which the script finds out.
        let _ = self.0.send(Pending::Try(Try { command, answer }));
        answered.await.unwrap_or(Tried::Unknown)
    }

    /// Also returns whether the command was sent more than once.
    pub(crate) async fn release(
        &self,
        command: ReleaseCommand,
    ) -> Result<(Released, bool), Unavailable> {
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send(Pending::Release(Release { command, answer }));
        answered.await.unwrap_or_else(|_| Err(Unavailable::unsent("the lock client is shut down")))
    }
}

#[derive(Clone)]
struct Batches {
    wire: Arc<NativeWire>,
    dispatcher: Arc<Dispatcher>,
    refusals: Arc<Refusals>,
}

impl Batches {
    async fn run(&self, pending: &mut mpsc::UnboundedReceiver<Pending>) {
        let mut in_flight = FuturesUnordered::new();
        let mut came_together = false;
        loop {
            let first = tokio::select! {
                Some(()) = in_flight.next() => continue,
                first = pending.recv() => first,
            };
            let Some(first) = first else { break };
            if came_together {
                // Tasks that are ready to run may have more to send.
                tokio::task::yield_now().await;
            }
            let (mut tries, mut releases) = (Vec::new(), Vec::new());
            let mut next = Some(first);
            while let Some(one) = next.take() {
                match one {
                    Pending::Try(one) => tries.push(one),
                    Pending::Release(one) => releases.push(one),
                }
                if tries.len() < MAX_BATCH && releases.len() < MAX_BATCH {
                    next = pending.try_recv().ok();
                }
            }
            came_together = tries.len() + releases.len() > 1;
            for sending in self.send(tries, releases) {
                let mut sending = sending;
                // Queued at the connection now, before anything that is taken from the queue later.
                if (&mut sending).now_or_never().is_none() {
                    in_flight.push(sending);
                }
            }
        }
        while in_flight.next().await.is_some() {}
    }

    /// One future for each group of commands that go in one write.
    fn send(&self, tries: Vec<Try>, releases: Vec<Release>) -> Vec<BoxFuture<'static, ()>> {
        let mut sending = Vec::new();
        for (slot, releases) in by_slot(releases, |one| self.wire.slot_of(&one.command.holder.key))
        {
            let batches = self.clone();
            sending.push(async move { batches.release(slot, releases).await }.boxed());
        }
        for (slot, tries) in by_slot(tries, |one| self.wire.slot_of(&one.command.key)) {
            let batches = self.clone();
            sending.push(async move { batches.try_free(slot, tries).await }.boxed());
        }
        sending
    }

    /// First those for which most likely no other waits, by a script that knows nothing but the names
    /// of locks; then those that take more.
    async fn release(&self, slot: u16, releases: Vec<Release>) {
        let (plain, rest) = releases.into_iter().partition(|one| self.is_plain(&one.command));
        let plain = self.release_as(slot, plain, true, false);
        let rest = self.release_as(slot, rest, false, false);
        let ((more, again), _) = tokio::join!(plain, rest);
        for one in &more {
            self.refusals.add(&one.command.holder.key);
        }
        self.release_as(slot, more, false, again).await;
    }

    fn is_plain(&self, step: &ReleaseCommand) -> bool {
        step.holds == 0
            && !step.in_line
            && step.holder.kind != Kind::Semaphore
            && !self.refusals.is_recent(&step.holder.key)
    }

    /// Returns those about which nothing is certain, and whether they were sent more than once. `again`:
    /// they were sent before.
    async fn release_as(
        &self,
        slot: u16,
        releases: Vec<Release>,
        plain: bool,
        mut again: bool,
    ) -> (Vec<Release>, bool) {
        if releases.is_empty() {
            return (releases, again);
        }
        let commands = releases.iter().map(|one| &one.command);
        let mut call = self.wire.release_all(commands, plain);
        call.nonce = self.dispatcher.nonce();
        let request = Request::Script(&call);
        let check = |value: &Value| decode::answers(value, &call.nonce);
        let dispatched = self.dispatcher.send(slot, &request, None, check).await;
        let answers = match dispatched {
            Ok(dispatched) => {
                again |= dispatched.again;
                decode::released_all(&dispatched.answer)
            }
            Err(why) => {
                for one in releases {
                    let _ = one.answer.send(Err(why.clone()));
                }
                return (Vec::new(), again);
            }
        };
        let (mut answers, mut more) = (answers.into_iter(), Vec::new());
        for one in releases {
            match answers.next() {
                Some(Ok(None)) if plain => more.push(one),
                Some(Ok(Some(released))) => {
                    let _ = one.answer.send(Ok((released, again)));
                }
                Some(Err(why)) => {
                    let _ = one.answer.send(Err(why));
                }
                _ => {
                    let why = Unavailable::unsent("BUG: too few answers");
                    let _ = one.answer.send(Err(why));
                }
            }
        }
        (more, again)
    }

    async fn try_free(&self, slot: u16, mut tries: Vec<Try>) {
        // A caller that is gone has its release behind it already: the lock would stay.
        tries.retain(|one| !one.answer.is_closed());
        if tries.is_empty() {
            return;
        }
        let Some(connection) = self.dispatcher.connection_now(slot) else { return };
        let counter = self.wire.counter(slot);
        if !counter.may_increment(&connection) {
            return;
        }
        let (known, sent) = (counter.known(), Instant::now());
        let commands: Vec<_> = tries.iter().map(|one| &one.command).collect();
        let total = commands.iter().map(|one| 1 + u64::from(one.reserved_tokens)).sum();
        let nonce = self.dispatcher.nonce();
        // As one transaction: if an operator took a lock away between its SET and the INCRBY, the token
        // would be greater than the operator's, and the former holder's writes would be accepted.
        let mut batch = redis::pipe();
        batch.atomic();
        for command in &commands {
            self.wire.set_free(&mut batch, command);
        }
        self.wire.take_tokens(&mut batch, slot, total);
        batch.cmd("ECHO").arg(&nonce);
        let limit = self.dispatcher.command_timeout;
        let answers = tokio::time::timeout(limit, connection.execute(&batch)).await;
        let outcomes = match answers {
            Ok(Ok(answers)) => outcomes(&answers, &nonce, &commands, known, total, counter),
            // The script is sent over the next connection.
            Ok(Err(Failure::ConnectionLost | Failure::ServerError(_))) => return,
            Err(_) => {
                connection.silent_since(sent);
                let why = self.dispatcher.no_answer(limit);
                for one in tries {
                    let _ = one.answer.send(Tried::Failed(why.clone()));
                }
                return;
            }
        };
        let Some(outcomes) = outcomes else {
            connection.dead.cancel();
            return;
        };
        for (one, outcome) in tries.into_iter().zip(outcomes) {
            let _ = one.answer.send(outcome);
        }
    }
}

/// The outcome of each SET; `None` if the answers are to another question.
fn outcomes(
    answers: &[Value],
    nonce: &str,
    commands: &[&AcquireCommand],
    known: u64,
    total: u64,
    counter: &Counter,
) -> Option<Vec<Tried>> {
    let [sets @ .., last, Value::BulkString(echo)] = answers else { return None };
    if echo != nonce.as_bytes() || sets.len() != commands.len() {
        return None;
    }
    // The counter was not incremented, or it is behind what this process knew when it sent this: it
    // was lost. No token of this batch is used; the scripts raise the counter.
    let last = match last {
        Value::Int(last) => u64::try_from(*last).ok().filter(|last| *last >= known + total),
        _ => None,
    };
    let mut next = last.map(|last| last - total);
    let outcomes = sets.iter().zip(commands).map(|(set, command)| match (set, &mut next) {
        (Value::Nil, _) => Tried::Refused,
        (Value::Okay, Some(before)) => {
            let token = FencingToken::new(*before + 1);
            *before += 1 + u64::from(command.reserved_tokens);
            counter.granted(token, command.reserved_tokens);
            Tried::Granted(token)
        }
        _ => Tried::Unknown,
    });
    Some(outcomes.collect())
}

/// Groups commands by slot, in order.
fn by_slot<T>(all: Vec<T>, slot_of: impl Fn(&T) -> u16) -> Vec<(u16, Vec<T>)> {
    let mut groups: Vec<(u16, Vec<T>)> = Vec::new();
    for one in all {
        let slot = slot_of(&one);
        match groups.iter_mut().find(|group| group.0 == slot) {
            Some(group) => group.1.push(one),
            None => groups.push((slot, vec![one])),
        }
    }
    groups
}
