//! Releases by the scripts of Redisson's wire. Those of one moment that need only a fast path go in one
//! script.

use futures_util::future::join_all;
use lock_store::{Holder, Kind, ReleaseCommand, Released, StoreError, WakeTopic};

use super::{
    protocol::{Reply, ScriptCall, decode},
    store::RedisStore,
};

/// Releases that one call takes together, each with its place among all.
struct Together<'a> {
    call: ScriptCall,
    commands: Vec<(usize, &'a ReleaseCommand)>,
}

impl RedisStore {
    /// Releases locks of one slot.
    pub(super) async fn release_by_scripts(
        &self,
        commands: Vec<ReleaseCommand>,
    ) -> Vec<Result<Released, StoreError>> {
        if let [command] = &commands[..] {
            return vec![self.release_by_script(command, false).await];
        }
        let mut together: Vec<Together<'_>> = Vec::new();
        for one in commands.iter().enumerate() {
            let call = self.wire.release(one.1);
            let joins = |other: &&mut Together<'_>| {
                call.joinable && other.call.joinable && other.call.script.name == call.script.name
            };
            match together.iter_mut().find(joins) {
                Some(other) => {
                    other.call.join(&call);
                    other.commands.push(one);
                }
                None => together.push(Together { call, commands: vec![one] }),
            }
        }
        // Each is polled once, in order, which queues its bytes at the connection.
        let answers = join_all(together.into_iter().map(|one| self.release_together(one))).await;
        let mut answers: Vec<_> = answers.into_iter().flatten().collect();
        answers.sort_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Returns the answer to each, with its place among all.
    async fn release_together(
        &self,
        together: Together<'_>,
    ) -> Vec<(usize, Result<Released, StoreError>)> {
        let Together { call, commands } = together;
        if let [(at, command)] = commands[..] {
            return vec![(at, self.release_by_script(command, false).await)];
        }
        let dispatched = match self.dispatch(&self.call(call), None).await {
            Ok(dispatched) => dispatched,
            Err(why) => {
                let failed = |(at, _)| (at, Err(why.clone().into()));
                return commands.into_iter().map(failed).collect();
            }
        };
        let freed = decode::released_together(&dispatched.answer, commands.len());
        let answers = commands.into_iter().zip(freed).map(async |((at, command), freed)| {
            let Some((released, listeners)) = freed else {
                // The script may have run twice. A lock that it had released the first time was not
                // there the second time: its outcome must count as repeated too.
                return (at, self.release_by_script(command, dispatched.again).await);
            };
            self.look_for_others(&command.holder, listeners);
            (at, Ok(decode::after_retry(released, dispatched.again)))
        });
        join_all(answers).await
    }

    /// `again`: the lock may be released already.
    async fn release_by_script(
        &self,
        command: &ReleaseCommand,
        again: bool,
    ) -> Result<Released, StoreError> {
        let call = self.call(self.wire.release(command));
        let answered = Box::pin(self.dispatch(&call, None)).await?;
        let reply = Reply::new(answered.answer);
        if let Some(listeners) = reply.listeners() {
            self.look_for_others(&command.holder, listeners);
        }
        Ok(decode::after_retry(reply.released()?, again || answered.again))
    }

    /// `listeners` clients without a place in line have received that a lock is free. One of them
    /// may be this client, which keeps a subscription for a while. A fair kind's line contains
    /// Redisson's waiters too.
    fn look_for_others(&self, holder: &Holder, listeners: i64) {
        if listeners == 0 {
            return;
        }
        let (channel, _) = self.wire.channel(WakeTopic::Turn(holder.clone()));
        let own = i64::from(self.channels.is_subscribed(&channel));
        if !holder.kind.is_fair()
            && holder.kind != Kind::Semaphore
            && listeners > own
            && let Some(met_others) = &self.met_others
        {
            met_others.add(&holder.key);
        }
    }
}
