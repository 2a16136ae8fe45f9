//! One history's lock in one store, and what is seen of it after each step.

use std::{collections::BTreeMap, time::Duration};

use lock_core::{
    Kind, LockClient, LockKey, Mode,
    test_util::{Answer, ProbedLock, Step, StepOwner, StoreProbe},
};

/// One lock in one store, with the owners that take steps on it.
pub(crate) struct Subject {
    steps: StoreProbe,
    key: LockKey,
    owners: Vec<StepOwner>,
    kind: Kind,
    last_token: u64,
}

/// How a lock stands: the parts that every store must have in common. Owners are numbers, since each
/// store names its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) mode: Option<Mode>,
    /// Reads, writes and time left, by owner.
    pub(crate) holders: BTreeMap<usize, (u32, u32, Duration)>,
    pub(crate) waiters: Vec<(usize, Mode)>,
}

impl Subject {
    pub(crate) fn new(client: &LockClient, kind: Kind, key: &str, owners: usize) -> Self {
        let (steps, key) = (StoreProbe::of(client), LockKey::try_from(key).unwrap());
        let mut subject = Self { steps, key, owners: Vec::new(), kind, last_token: 0 };
        for _ in 0..owners {
            subject.add_owner();
        }
        subject
    }

    /// Returns the number of a new owner.
    pub(crate) fn add_owner(&mut self) -> usize {
        self.owners.push(self.steps.owner(self.kind, &self.key));
        self.owners.len() - 1
    }

    pub(crate) fn owners(&self) -> usize {
        self.owners.len()
    }

    /// Waits until every owner receives the messages that are sent from now on.
    pub(crate) async fn listen(&mut self) {
        for owner in &mut self.owners {
            owner.listens().await;
        }
    }

    /// How many messages each owner has received.
    pub(crate) fn reported(&self) -> Vec<u64> {
        self.owners.iter().map(StepOwner::reported).collect()
    }

    /// Takes a step. Every token must exceed all that were handed out before.
    pub(crate) async fn take(&mut self, owner: usize, step: Step) -> Result<Answer, String> {
        let answer = self.steps.take(&self.owners[owner], step).await;
        let answer = answer.map_err(|why| why.to_string())?;
        if let Answer::Granted { token: Some(token) }
        | Answer::TakenAway { token: Some(token), .. } = answer
        {
            let last = std::mem::replace(&mut self.last_token, token);
            if token <= last {
                return Err(format!("its token {token} is not above the last one, {last}"));
            }
        }
        Ok(answer)
    }

    pub(crate) async fn standing(&self) -> Result<Standing, String> {
        let seen = self.steps.look(&self.key).await.map_err(|why| why.to_string())?;
        let ProbedLock { mode, holders, waiters, .. } = seen.ok_or("it is not a lock")?;
        let number = |owner: &str| {
            let is = |known: &StepOwner| known.name() == owner;
            self.owners.iter().position(is).ok_or_else(|| format!("no owner is {owner}"))
        };
        let holder = |holder: lock_core::test_util::ProbedHolder| {
            let left = holder.remaining.ok_or_else(|| format!("{holder:?} has no end"))?;
            Ok::<_, String>((number(&holder.owner)?, (holder.reads, holder.writes, left)))
        };
        let waiter = |(owner, mode): (String, Mode)| Ok::<_, String>((number(&owner)?, mode));
        Ok(Standing {
            mode,
            holders: holders.into_iter().map(holder).collect::<Result<_, _>>()?,
            waiters: waiters.into_iter().map(waiter).collect::<Result<_, _>>()?,
        })
    }
}
