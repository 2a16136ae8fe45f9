//! Sends what needs no whole script: tries at free locks, and releases. A command that is alone is sent by
//! its caller; those that are ready at the same moment go to Redis together, by one task.
//!
//! A release is sent after the try that it may have to undo, even if the caller of that try is gone: a
//! caller sends its release only while no try is in the queue, and what the task takes from the queue
//! it sends in that order, over one connection.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

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

use super::{encode::NativeWire, refusals::Refusals};
use crate::{
    runtime::Tasks,
    store::{
        AcquireCommand, ReleaseCommand, Released,
        redis::{
            connection::Failure,
            dispatcher::{Dispatched, Dispatcher},
            protocol::{Request, ScriptCall, decode},
        },
    },
    types::{FencingToken, Kind, Unavailable},
};

/// The most commands of a kind in one write: Redis answers nothing else meanwhile.
const MAX_BATCH: usize = 64;

/// The outcome of a try at a free lock.
#[derive(Debug, Clone)]
pub(crate) enum Tried {
    Granted(FencingToken),
    /// Nothing was acquired: the key is there.
    Refused,
    /// A script must find out: the try may not have been sent, or its token may not be used.
    Unknown,
    Failed(Unavailable),
}

/// The outcome of a release, and whether the command was sent more than once.
type ReleaseOutcome = Result<(Released, bool), Unavailable>;

/// How many commands there are that another may have to wait for.
#[derive(Debug, Default)]
struct UnderWay {
    /// Tries and releases without an answer.
    tries: AtomicUsize,
    releases: AtomicUsize,
    /// Tries in the queue.
    unsent: AtomicUsize,
}

/// Counts one command until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// Also returns whether it is the only one.
    fn new(all: &'a AtomicUsize) -> (Self, bool) {
        let before = all.fetch_add(1, Ordering::AcqRel);
        (Self(all), before == 0)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

struct Try {
    command: AcquireCommand,
    answer: oneshot::Sender<Tried>,
}

struct Release {
    command: ReleaseCommand,
    answer: oneshot::Sender<ReleaseOutcome>,
}

enum Pending {
    Try(Try),
    Release(Release),
}

/// The sending end. The task ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: mpsc::UnboundedSender<Pending>,
    batches: Batches,
    under_way: Arc<UnderWay>,
}

impl Writer {
    pub(crate) fn start(
        wire: Arc<NativeWire>,
        dispatcher: Arc<Dispatcher>,
        refusals: Arc<Refusals>,
        tasks: &Tasks,
    ) -> Self {
        let (queue, pending) = mpsc::unbounded_channel();
        let (batches, under_way) = (Batches { wire, dispatcher, refusals }, Arc::default());
        let task = (batches.clone(), Arc::<UnderWay>::clone(&under_way));
        let pending = Arc::new(Mutex::new(pending));
        tasks.spawn_supervised(move || {
            let ((batches, under_way), pending) = (task.clone(), Arc::clone(&pending));
            async move { batches.run(&mut *pending.lock().await, &under_way.unsent).await }
        });
        Self { queue, batches, under_way }
    }

    pub(crate) async fn try_free(&self, command: &AcquireCommand) -> Tried {
        let (_counted, is_alone) = Counted::new(&self.under_way.tries);
        if is_alone {
            let slot = self.batches.wire.slot_of(&command.key);
            let mut outcome = Tried::Unknown;
            self.batches.try_all(slot, &[command], |_, tried| outcome = tried).await;
            return outcome;
        }
        let (answer, answered) = oneshot::channel();
        self.under_way.unsent.fetch_add(1, Ordering::AcqRel);
        // Without the task the client is shut down, which the script finds out.
        let _ = self.queue.send(Pending::Try(Try { command: command.clone(), answer }));
        answered.await.unwrap_or(Tried::Unknown)
    }

    pub(crate) async fn release(&self, command: ReleaseCommand) -> ReleaseOutcome {
        let (_counted, is_alone) = Counted::new(&self.under_way.releases);
        // The try that this must undo may still be in the queue.
        if is_alone && self.under_way.unsent.load(Ordering::Acquire) == 0 {
            return self.batches.release(&command).await;
        }
        let (answer, answered) = oneshot::channel();
        let _ = self.queue.send(Pending::Release(Release { command, answer }));
        answered.await.unwrap_or_else(|_| Err(Unavailable::unsent("the lock client is shut down")))
    }
}

fn too_few_answers() -> Unavailable {
    Unavailable::unsent("BUG: too few answers to a batch")
}

#[derive(Debug, Clone)]
struct Batches {
    wire: Arc<NativeWire>,
    dispatcher: Arc<Dispatcher>,
    refusals: Arc<Refusals>,
}

impl Batches {
    async fn run(&self, pending: &mut mpsc::UnboundedReceiver<Pending>, unsent: &AtomicUsize) {
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
            let taken = tries.len();
            for sending in self.send(tries, releases) {
                let mut sending = sending;
                // Queued at the connection now, before anything that is taken from the queue later.
                if (&mut sending).now_or_never().is_none() {
                    in_flight.push(sending);
                }
            }
            unsent.fetch_sub(taken, Ordering::AcqRel);
        }
        while in_flight.next().await.is_some() {}
    }

    /// One future for each group of commands that go in one write.
    fn send(&self, tries: Vec<Try>, releases: Vec<Release>) -> Vec<BoxFuture<'static, ()>> {
        let mut sending = Vec::new();
        for (slot, releases) in by_slot(releases, |one| self.wire.slot_of(&one.command.holder.key))
        {
            let batches = self.clone();
            let send = async move {
                let commands: Vec<_> = releases.iter().map(|one| &one.command).collect();
                let outcomes = batches.release_all(slot, &commands).await;
                for (one, outcome) in releases.into_iter().zip(outcomes) {
                    let _ = one.answer.send(outcome);
                }
            };
            sending.push(send.boxed());
        }
        for (slot, mut tries) in by_slot(tries, |one| self.wire.slot_of(&one.command.key)) {
            let batches = self.clone();
            let send = async move {
                // A caller that is gone has its release behind it already: the lock would stay.
                tries.retain(|one| !one.answer.is_closed());
                let commands: Vec<_> = tries.iter().map(|one| &one.command).collect();
                let mut outcomes = vec![Tried::Unknown; tries.len()];
                batches.try_all(slot, &commands, |at, outcome| outcomes[at] = outcome).await;
                for (one, outcome) in tries.into_iter().zip(outcomes) {
                    let _ = one.answer.send(outcome);
                }
            };
            sending.push(send.boxed());
        }
        sending
    }

    /// Whether most likely no other waits for the lock.
    fn is_plain(&self, step: &ReleaseCommand) -> bool {
        step.holds == 0
            && !step.in_line
            && step.holder.kind != Kind::Semaphore
            && !self.refusals.is_recent(&step.holder.key)
    }

    async fn release(&self, step: &ReleaseCommand) -> ReleaseOutcome {
        let slot = self.wire.slot_of(&step.holder.key);
        let mut again = false;
        if self.is_plain(step) {
            let (others, plain_again) = self.release_plain(slot, std::iter::once(step)).await?;
            if others.is_empty() {
                return Ok((Released::Freed, plain_again));
            }
            again = plain_again;
        }
        // Boxed apart: what is above is moved for every release, and must be small.
        let mut outcomes = Box::pin(self.release_whole(slot, &[step])).await;
        let (released, whole_again) = outcomes.pop().unwrap_or_else(|| Err(too_few_answers()))?;
        Ok((released, again || whole_again))
    }

    /// First those for which most likely no other waits, then the others. Returns the outcome of each.
    async fn release_all(&self, slot: u16, steps: &[&ReleaseCommand]) -> Vec<ReleaseOutcome> {
        let mut outcomes: Vec<Option<ReleaseOutcome>> = steps.iter().map(|_| None).collect();
        let plain: Vec<_> = (0..steps.len()).filter(|at| self.is_plain(steps[*at])).collect();
        let mut again = false;
        if !plain.is_empty() {
            match self.release_plain(slot, plain.iter().map(|at| steps[*at])).await {
                Ok((others, plain_again)) => {
                    again = plain_again;
                    for (number, at) in plain.into_iter().enumerate() {
                        if !others.contains(&(number + 1)) {
                            outcomes[at] = Some(Ok((Released::Freed, again)));
                        }
                    }
                }
                Err(why) => plain.into_iter().for_each(|at| outcomes[at] = Some(Err(why.clone()))),
            }
        }
        let rest: Vec<_> = (0..steps.len()).filter(|at| outcomes[*at].is_none()).collect();
        if !rest.is_empty() {
            let whole: Vec<_> = rest.iter().map(|at| steps[*at]).collect();
            for (at, outcome) in rest.into_iter().zip(self.release_whole(slot, &whole).await) {
                let outcome = outcome.map(|(released, whole)| (released, again || whole));
                outcomes[at] = Some(outcome);
            }
        }
        outcomes.into_iter().map(|one| one.unwrap_or_else(|| Err(too_few_answers()))).collect()
    }

    /// By a script that looks at nothing but the locks' values. Returns the numbers, from 1, of those
    /// that were not released, and whether the script was sent more than once.
    async fn release_plain(
        &self,
        slot: u16,
        steps: impl Iterator<Item = &ReleaseCommand> + Clone,
    ) -> Result<(Vec<usize>, bool), Unavailable> {
        let call = self.wire.release_free(steps.clone());
        let dispatched = self.dispatch(slot, &call).await?;
        let others = decode::other_values(&dispatched.answer);
        if !others.is_empty() {
            let refused = steps.enumerate().filter(|(at, _)| others.contains(&(at + 1)));
            refused.for_each(|(_, step)| self.refusals.add(&step.holder.key));
        }
        Ok((others, dispatched.again))
    }

    /// By the script that also wakes waiters. Returns the outcome of each.
    async fn release_whole(&self, slot: u16, steps: &[&ReleaseCommand]) -> Vec<ReleaseOutcome> {
        let mut call = self.wire.release_all(steps.iter().copied());
        call.nonce = self.dispatcher.nonce();
        match self.dispatch(slot, &call).await {
            Ok(dispatched) => decode::released_all(&dispatched.answer)
                .into_iter()
                .map(|answer| answer.map(|released| (released, dispatched.again)))
                .collect(),
            Err(why) => steps.iter().map(|_| Err(why.clone())).collect(),
        }
    }

    async fn dispatch(&self, slot: u16, call: &ScriptCall) -> Result<Dispatched, Unavailable> {
        let check = |value: &Value| decode::answers(value, &call.nonce);
        self.dispatcher.send(slot, &Request::Script(call), None, check).await
    }

    /// Reports the outcome of each, unless nothing was sent or it is unknown.
    async fn try_all(
        &self,
        slot: u16,
        commands: &[&AcquireCommand],
        mut report: impl FnMut(usize, Tried),
    ) {
        let counter = self.wire.counter(slot);
        let up = self.dispatcher.up(slot);
        let Some((.., connection)) = up.filter(|(.., over)| counter.may_increment(over)) else {
            return;
        };
        if commands.is_empty() {
            return;
        }
        let (known, sent) = (counter.known(), Instant::now());
        let total = commands.iter().map(|one| 1 + u64::from(one.reserved_tokens)).sum();
        let answers =
            connection.query_all(&self.wire.free_batch(slot, commands, total), Some(sent));
        match answers.await {
            Ok(answers) => {
                if report_all(&self.wire, &answers, slot, commands, (known, total), report)
                    .is_none()
                {
                    connection.end();
                }
            }
            // The script is sent over the next connection.
            Err(Failure::ConnectionLost | Failure::ServerError(_)) => {}
            Err(Failure::Late) => {
                let why = Tried::Failed(self.dispatcher.no_answer(self.dispatcher.command_timeout));
                (0..commands.len()).for_each(|at| report(at, why.clone()));
            }
        }
    }
}

/// Reports the outcome of each SET; `None` if the answers are to another question.
///
/// A grant counts only if its own value stood there after its token was drawn. If an operator took a
/// lock away between the two, the token would be greater than the operator's, and writes of the former
/// holder would be accepted.
fn report_all(
    wire: &NativeWire,
    answers: &[Value],
    slot: u16,
    commands: &[&AcquireCommand],
    (known, total): (u64, u64),
    mut report: impl FnMut(usize, Tried),
) -> Option<()> {
    let [sets @ .., last, after] = answers else { return None };
    if sets.len() != commands.len() {
        return None;
    }
    let after = match after {
        Value::Array(after) if after.len() == sets.len() => after.as_slice(),
        Value::BulkString(_) | Value::Nil if sets.len() == 1 => std::slice::from_ref(after),
        Value::ServerError(_) => &[],
        _ => return None,
    };
    // The counter was not incremented, or it is behind what this process knew when it sent this: it
    // was lost. No token of this batch is used; the scripts raise the counter.
    let last = match last {
        Value::Int(last) => u64::try_from(*last).ok().filter(|last| *last >= known + total),
        Value::ServerError(_) => None,
        _ => return None,
    };
    let mut next = last.map(|last| last - total);
    let counter = wire.counter(slot);
    for (at, (set, command)) in sets.iter().zip(commands).enumerate() {
        let outcome = match (set, &mut next) {
            (Value::Nil, _) => Tried::Refused,
            (Value::Okay, Some(before)) => {
                let token = FencingToken::new(*before + 1);
                *before += 1 + u64::from(command.reserved_tokens);
                counter.granted(token, command.reserved_tokens);
                let value = wire.free_value(command);
                match after.get(at) {
                    Some(Value::BulkString(now)) if value.stands_in(now) => Tried::Granted(token),
                    _ => Tried::Unknown,
                }
            }
            _ => Tried::Unknown,
        };
        report(at, outcome);
    }
    Some(())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        store::Holder,
        types::{ClientId, LockKey, Mode, Owners},
    };

    /// Tries at locks, each with so many tokens in reserve, and the values that they write.
    struct Tries {
        wire: NativeWire,
        commands: Vec<AcquireCommand>,
    }

    impl Tries {
        fn new(reserved: &[u32]) -> Self {
            let client = ClientId::random();
            let (owners, key) =
                (Owners::new(client.clone()), LockKey::try_from("k").expect("a key"));
            let commands = reserved.iter().map(|reserved_tokens| {
                let holder =
                    Holder { kind: Kind::Reentrant, key: key.clone(), owner: owners.next() };
                let command = AcquireCommand::new(holder, Mode::Write, Duration::from_secs(1));
                AcquireCommand { reserved_tokens: *reserved_tokens, ..command }
            });
            let commands = commands.collect();
            Self { wire: NativeWire::new(String::new(), &client, false, false), commands }
        }

        fn value(&self, at: usize) -> Value {
            Value::BulkString(self.wire.free_value(&self.commands[at]).text().into())
        }

        /// The token of each grant, `None` for what a script must find out.
        fn report(&self, answers: &[Value], known: u64) -> Option<Vec<Option<u64>>> {
            let commands: Vec<_> = self.commands.iter().collect();
            let total = commands.iter().map(|one| 1 + u64::from(one.reserved_tokens)).sum();
            let mut tokens = vec![None; commands.len()];
            report_all(&self.wire, answers, 0, &commands, (known, total), |at, tried| {
                tokens[at] = match tried {
                    Tried::Granted(token) => Some(token.get()),
                    Tried::Refused => Some(0),
                    Tried::Unknown => None,
                    Tried::Failed(why) => panic!("{why}"),
                };
            })?;
            Some(tokens)
        }
    }

    fn server_error() -> Value {
        redis::parse_redis_value(b"-ERR no\r\n").expect("a reply")
    }

    #[test]
    fn each_grant_has_a_token_of_its_own_behind_what_is_in_reserve() {
        let tries = Tries::new(&[2, 0, 1]);
        let after = Value::Array((0..3).map(|at| tries.value(at)).collect());
        let answers = [Value::Okay, Value::Okay, Value::Okay, Value::Int(106), after];
        assert_eq!(tries.report(&answers, 100), Some(vec![Some(101), Some(104), Some(105)]));
        assert_eq!(tries.wire.counter(0).known(), 106);
        assert_eq!(tries.report(&answers, 101), Some(vec![None; 3]), "the counter was set back");
    }

    #[test]
    fn a_refused_try_has_no_token() {
        let tries = Tries::new(&[2, 0]);
        let after = Value::Array(vec![Value::BulkString(b"other".into()), tries.value(1)]);
        let answers = [Value::Nil, Value::Okay, Value::Int(104), after];
        assert_eq!(tries.report(&answers, 100), Some(vec![Some(0), Some(101)]));
    }

    #[test]
    fn a_lock_that_was_taken_away_before_its_token_is_not_granted() {
        let tries = Tries::new(&[0]);
        for now in [Value::Nil, Value::BulkString(b"other".into()), server_error()] {
            let answers = [Value::Okay, Value::Int(1), now];
            assert_eq!(tries.report(&answers, 0), Some(vec![None]), "{answers:?}");
        }
        let answers = [Value::Okay, Value::Int(1), tries.value(0)];
        assert_eq!(tries.report(&answers, 0), Some(vec![Some(1)]));
        let answers = [Value::Okay, server_error(), tries.value(0)];
        assert_eq!(tries.report(&answers, 0), Some(vec![None]), "there is no token");
    }

    #[test]
    fn answers_to_another_question_are_found() {
        let tries = Tries::new(&[0, 0]);
        let (first, second) = (tries.value(0), tries.value(1));
        let both = Value::Array(vec![first.clone(), second.clone()]);
        for answers in [
            vec![],
            vec![Value::Okay, Value::Int(2), both.clone()],
            vec![Value::Okay, Value::Okay, Value::Int(2), Value::Array(vec![first.clone()])],
            vec![Value::Okay, Value::Okay, Value::Int(2), first],
            vec![Value::Okay, Value::Okay, Value::Okay, both],
        ] {
            assert_eq!(tries.report(&answers, 0), None, "{answers:?}");
        }
    }
}
