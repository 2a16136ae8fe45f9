//! Sends tries at free locks, and the commands that may undo them: releases, and waiters that leave
//! a line. A caller sends its command itself if no other is under way. One task sends those that
//! are ready at the same moment together.
//!
//! An undo is sent behind the try that it may have to undo. Otherwise Redis would execute it first,
//! and the try would take a lock that has no holder, for a whole lease. The try may still be in the
//! queue after its caller has gone. So an undo passes the queue only while no try is in it. The
//! task sends everything that it takes at one moment over one connection, the tries first.
//!
//! One file: which command may be sent beside which is one set of rules, and each is there for another.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use lock_store::{
    AcquireCommand, Kind, LeaveCommand, ReleaseCommand, Released, StoreError, Unavailable,
    runtime::Tasks,
};
use redis::Value;
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::Instant,
};

use super::{
    encode::NativeWire,
    free::{Tried, report_tried},
};
use crate::redis::{
    connection::Failure,
    dispatcher::{Dispatched, Dispatcher},
    protocol::{Reply, Request, ScriptCall, decode},
    recent_keys::RecentKeys,
};

/// The most commands of a kind in one write: Redis serves no other client meanwhile.
const MAX_BATCH: usize = 64;

/// The answer to a release.
type ReleaseAnswer = Result<Released, StoreError>;

/// Counts of the commands that another one may have to wait for.
#[derive(Debug, Default)]
struct UnderWay {
    /// Tries without an answer.
    tries: AtomicUsize,
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

/// Releases of one slot that are sent together.
struct QueuedReleases {
    commands: Vec<ReleaseCommand>,
    answers: oneshot::Sender<Vec<ReleaseAnswer>>,
}

struct Leave {
    command: LeaveCommand,
    answer: oneshot::Sender<Result<(), Unavailable>>,
}

enum Pending {
    Try(Try),
    Releases(QueuedReleases),
    Leave(Leave),
}

/// The commands that the task takes from the queue at one moment.
#[derive(Default)]
struct Taken {
    tries: Vec<Try>,
    releases: Vec<QueuedReleases>,
    leaves: Vec<Leave>,
}

impl Taken {
    fn push(&mut self, one: Pending) {
        match one {
            Pending::Try(one) => self.tries.push(one),
            Pending::Releases(one) => self.releases.push(one),
            Pending::Leave(one) => self.leaves.push(one),
        }
    }

    fn len(&self) -> usize {
        self.tries.len() + self.releases.len() + self.leaves.len()
    }

    fn is_full(&self) -> bool {
        let most = self.tries.len().max(self.releases.len()).max(self.leaves.len());
        most >= MAX_BATCH
    }
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
        refusals: Arc<RecentKeys>,
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
        // A lone try is queued at the connection in the first poll of this future. Its undo is sent
        // when the future has ended or was dropped, so it is always behind the try.
        if is_alone {
            let slot = self.batches.wire.slot_of(&command.key);
            let mut outcome = Tried::Unknown;
            self.batches.try_all(slot, &[command], |_, tried| outcome = tried).await;
            return outcome;
        }
        let (answer, answered) = oneshot::channel();
        // Counted before it is in the queue: a release between the two would find no unsent try,
        // and overtake this one.
        self.under_way.unsent.fetch_add(1, Ordering::AcqRel);
        // The task ends only with the client: then the script that follows reports the shutdown.
        let _ = self.queue.send(Pending::Try(Try { command: command.clone(), answer }));
        answered.await.unwrap_or(Tried::Unknown)
    }

    /// Releases locks of one slot.
    pub(crate) async fn release_all(&self, commands: Vec<ReleaseCommand>) -> Vec<ReleaseAnswer> {
        if self.may_pass_queue() {
            return self.batches.release_all(&commands).await;
        }
        let ((answers, answered), count) = (oneshot::channel(), commands.len());
        let _ = self.queue.send(Pending::Releases(QueuedReleases { commands, answers }));
        answered.await.unwrap_or_else(|_| failed(count, &shut_down()))
    }

    pub(crate) async fn leave(&self, command: LeaveCommand) -> Result<(), Unavailable> {
        if self.may_pass_queue() {
            return self.batches.leave(&command).await;
        }
        let (answer, answered) = oneshot::channel();
        let _ = self.queue.send(Pending::Leave(Leave { command, answer }));
        answered.await.unwrap_or_else(|_| Err(shut_down()))
    }

    /// Whether an undo may be sent at once: the try that it must undo is not in the queue.
    fn may_pass_queue(&self) -> bool {
        self.under_way.unsent.load(Ordering::Acquire) == 0
    }
}

fn shut_down() -> Unavailable {
    Unavailable::unsent("the lock client is shut down")
}

/// The answers to this number of releases that all failed.
fn failed(count: usize, why: &Unavailable) -> Vec<ReleaseAnswer> {
    (0..count).map(|_| Err(why.clone().into())).collect()
}

#[derive(Debug, Clone)]
struct Batches {
    wire: Arc<NativeWire>,
    dispatcher: Arc<Dispatcher>,
    refusals: Arc<RecentKeys>,
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
                // Other tasks that are ready to run may add commands to this batch. Only after a
                // batch of several: a lone command would wait for a turn of the runtime in vain.
                tokio::task::yield_now().await;
            }
            let mut taken = Taken::default();
            taken.push(first);
            while !taken.is_full()
                && let Ok(next) = pending.try_recv()
            {
                taken.push(next);
            }
            came_together = taken.len() > 1;
            let tries = taken.tries.len();
            for sending in self.send(taken) {
                // Each future is polled once, in order, which queues its bytes at the connection.
                // An undo in the same batch is therefore behind its try.
                let mut sending = sending;
                // A future that is still pending has queued its bytes, in front of everything that
                // is taken from the queue later.
                if (&mut sending).now_or_never().is_none() {
                    in_flight.push(sending);
                }
            }
            // Only now: the caller of an undo, on another thread, sends it itself once it finds no
            // unsent try. Earlier, the undo could overtake a try that was taken and not sent.
            unsent.fetch_sub(tries, Ordering::AcqRel);
        }
        // The queue is closed, but callers still wait for the outcome of their last commands: a
        // release that is dropped here would leave its lock held for a whole lease.
        while in_flight.next().await.is_some() {}
    }

    /// One future for each group of commands that go in one write, the tries before the commands
    /// that may undo them.
    fn send(&self, taken: Taken) -> Vec<BoxFuture<'static, ()>> {
        let Taken { tries, releases, leaves } = taken;
        let mut sending = Vec::new();
        for (slot, tries) in by_slot(tries, |one| self.wire.slot_of(&one.command.key)) {
            let batches = self.clone();
            let send = async move {
                let commands: Vec<_> = tries.iter().map(|one| &one.command).collect();
                let mut outcomes = vec![Tried::Unknown; tries.len()];
                batches.try_all(slot, &commands, |at, outcome| outcomes[at] = outcome).await;
                for (one, outcome) in tries.into_iter().zip(outcomes) {
                    let _ = one.answer.send(outcome);
                }
            };
            sending.push(send.boxed());
        }
        for QueuedReleases { commands, answers } in releases {
            let batches = self.clone();
            let send = async move {
                let _ = answers.send(batches.release_all(&commands).await);
            };
            sending.push(send.boxed());
        }
        for Leave { command, answer } in leaves {
            let batches = self.clone();
            let send = async move {
                let _ = answer.send(batches.leave(&command).await);
            };
            sending.push(send.boxed());
        }
        sending
    }

    async fn leave(&self, command: &LeaveCommand) -> Result<(), Unavailable> {
        let mut call = self.wire.leave_line(command);
        call.nonce = self.dispatcher.nonce();
        let slot = self.wire.slot_of(&command.key);
        Reply::new(self.dispatch(slot, &call).await?.answer).left()
    }

    /// Whether most likely no waiter is at the lock.
    fn is_plain(&self, command: &ReleaseCommand) -> bool {
        // A wrong guess costs a second script, and never a wake-up: the plain script deletes only
        // the exact value of the owner. A waiter has written itself behind that value, so its lock
        // is left to the whole script.
        command.holds == 0
            && !command.in_line
            && !command.keeps_other_mode
            && command.holder.kind != Kind::Semaphore
            && !self.refusals.is_recent(&command.holder.key)
    }

    /// First the locks that most likely have no waiter, then the others. Returns the answer to each.
    async fn release_all(&self, commands: &[ReleaseCommand]) -> Vec<ReleaseAnswer> {
        let Some(first) = commands.first() else { return Vec::new() };
        let slot = self.wire.slot_of(&first.holder.key);
        if commands.iter().all(|command| self.is_plain(command)) {
            let released = self.release_plain(slot, commands.iter()).await;
            if let Ok((others, _)) = &released
                && others.is_empty()
            {
                return commands.iter().map(|_| Ok(Released::Freed)).collect();
            }
            let plain = (0..commands.len()).collect();
            return Box::pin(self.release_rest(slot, commands, plain, released)).await;
        }
        // Boxed apart: the part above is moved for every release, and must be small.
        Box::pin(async {
            let plain: Vec<_> =
                (0..commands.len()).filter(|at| self.is_plain(&commands[*at])).collect();
            let released = match plain.is_empty() {
                true => Ok((Vec::new(), false)),
                false => self.release_plain(slot, plain.iter().map(|at| &commands[*at])).await,
            };
            self.release_rest(slot, commands, plain, released).await
        })
        .await
    }

    /// Answers after the plain script, which has released the locks at `plain` except some.
    async fn release_rest(
        &self,
        slot: u16,
        commands: &[ReleaseCommand],
        plain: Vec<usize>,
        released: Result<(Vec<usize>, bool), Unavailable>,
    ) -> Vec<ReleaseAnswer> {
        let mut answers: Vec<Option<ReleaseAnswer>> = commands.iter().map(|_| None).collect();
        let mut again = false;
        match released {
            Ok((others, plain_again)) => {
                // The plain script may have run twice. Locks that it had released the first time
                // had no value the second time, and are now among the others: their outcome must
                // count as repeated too.
                again = plain_again;
                for (number, at) in plain.into_iter().enumerate() {
                    if !others.contains(&(number + 1)) {
                        answers[at] = Some(Ok(Released::Freed));
                    }
                }
            }
            Err(why) => {
                plain.into_iter().for_each(|at| answers[at] = Some(Err(why.clone().into())));
            }
        }
        let rest: Vec<_> = (0..commands.len()).filter(|at| answers[*at].is_none()).collect();
        if !rest.is_empty() {
            let whole: Vec<_> = rest.iter().map(|at| &commands[*at]).collect();
            let whole = self.release_whole(slot, &whole, again).await;
            rest.into_iter().zip(whole).for_each(|(at, answer)| answers[at] = Some(answer));
        }
        let missing = || Err(Unavailable::unsent("BUG: too few answers to a batch").into());
        answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect()
    }

    /// By a script that reads only the locks' values. Returns the numbers, from 1, of those that
    /// were not released, and whether the script was sent more than once.
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
            refused.for_each(|(_, command)| self.refusals.add(&command.holder.key));
        }
        Ok((others, dispatched.again))
    }

    /// By the script that also wakes waiters. `again`: some may be released already. Returns the
    /// answer to each.
    async fn release_whole(
        &self,
        slot: u16,
        commands: &[&ReleaseCommand],
        again: bool,
    ) -> Vec<ReleaseAnswer> {
        let mut call = self.wire.release_all(commands.iter().copied());
        call.nonce = self.dispatcher.nonce();
        let dispatched = match self.dispatch(slot, &call).await {
            Ok(dispatched) => dispatched,
            Err(why) => return failed(commands.len(), &why),
        };
        let again = again || dispatched.again;
        let answers = decode::released_all(&dispatched.answer).into_iter();
        answers.map(|answer| Ok(decode::after_retry(answer?, again))).collect()
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
        // Without a connection over which a script has raised the counter lately, INCRBY could
        // return a token that an earlier holder has. The script goes first then.
        let up = self.dispatcher.up(slot);
        let Some((.., connection)) = up.filter(|(.., over)| counter.may_increment(over)) else {
            return;
        };
        // Read before anything is sent: a counter that is behind the tokens that were known then
        // has been lost.
        let (known, sent) = (counter.known(), Instant::now());
        let total = commands.iter().map(|one| 1 + u64::from(one.reserved_tokens)).sum();
        let answers =
            connection.query_all(&self.wire.free_batch(slot, commands, total), Some(sent));
        match answers.await {
            Ok(answers) => {
                if report_tried(&self.wire, &answers, slot, commands, (known, total), report)
                    .is_none()
                {
                    // These replies belong to other commands, and so would all later ones: callers
                    // would rely on locks that were granted to others.
                    connection.end();
                }
            }
            // The try may have been executed. The script is sent over the next connection and finds
            // the owner in the value.
            Err(Failure::ConnectionLost | Failure::ServerError(_)) => {}
            Err(Failure::Late) => {
                let why = Tried::Failed(self.dispatcher.no_answer(self.dispatcher.command_timeout));
                (0..commands.len()).for_each(|at| report(at, why.clone()));
            }
        }
    }
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
