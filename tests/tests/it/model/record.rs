//! A history as the store in memory has it, on a paused clock: each step with its answer, and how the
//! lock stands after it.

use lock_core::{
    Kind, LockClient,
    test_util::{Answer, Ask, Step},
};

use crate::model::{
    history::{Action, Event, Failure, History, OWNERS, span},
    players::Player,
    subject::{Standing, Subject},
    wakes::find_wakes,
};

#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// In half steps of the grid.
    pub(crate) at: u64,
    pub(crate) owner: usize,
    pub(crate) step: Step,
    pub(crate) answer: Answer,
    pub(crate) after: Standing,
    /// Those that wait before it and after it.
    pub(crate) waiters: Vec<Waiter>,
    /// Those that a message has reached: what is reserved for them is over before the next step.
    pub(crate) reported: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) owner: usize,
    pub(crate) ask: Ask,
    /// Whether a message has reached it.
    is_told: bool,
    /// Whether it could not enter before the step and can now, so that a message has to reach it.
    pub(crate) must_be_told: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) kind: Kind,
    pub(crate) owners: usize,
    pub(crate) steps: Vec<Recorded>,
}

pub(crate) fn record(history: &History) -> Result<Recording, Failure> {
    let mut clock = tokio::runtime::Builder::new_current_thread();
    let clock = clock.enable_time().start_paused(true).build().unwrap();
    clock.block_on(async {
        let mut stage = Stage::new(history);
        for Event { after, actor, action } in &history.events {
            tokio::time::advance(span(*after)).await;
            stage.now += after;
            stage.play(*actor, *action).await?;
        }
        let (owners, steps) = (stage.lock.owners(), stage.steps);
        let mut recording = Recording { kind: history.kind, owners, steps };
        find_wakes(&mut recording).await;
        for recorded in &recording.steps {
            let asleep = |waiter: &&Waiter| waiter.must_be_told && !waiter.is_told;
            if let Some(Waiter { owner, .. }) = recorded.waiters.iter().find(asleep) {
                let why = format!("in memory, {owner} can enter now and is not reported");
                return Err(recorded.fails(&why));
            }
        }
        Ok(recording)
    })
}

impl Recorded {
    pub(crate) fn fails(&self, why: &str) -> Failure {
        Failure::new(self.at, self.owner, self.step, why)
    }
}

struct Stage<'a> {
    history: &'a History,
    lock: Subject,
    now: u64,
    players: Vec<Player>,
    steps: Vec<Recorded>,
}

impl<'a> Stage<'a> {
    fn new(history: &'a History) -> Self {
        let lock = Subject::new(&LockClient::in_memory(), history.kind, "k", OWNERS);
        let players = (0..OWNERS).map(Player::new).collect();
        Self { history, lock, now: 0, players, steps: Vec::new() }
    }

    async fn play(&mut self, actor: usize, action: Action) -> Result<(), Failure> {
        let mut lost_its_place = self.lost_its_place(&self.players[actor]).await;
        if self.players[actor].is_replaced(action, lost_its_place) {
            self.players[actor] = Player::new(self.lock.add_owner());
            lost_its_place = false;
        }
        let player = &self.players[actor];
        let step = player.step(self.history, action, self.now, lost_its_place);
        let Some(step) = step else { return Ok(()) };
        let (at, owner) = (self.now, player.owner);
        match self.take(actor, step).await {
            Ok(recorded) => {
                self.steps.push(recorded);
                Ok(())
            }
            Err(why) => Err(Failure::new(at, owner, step, &format!("in memory, {why}"))),
        }
    }

    async fn take(&mut self, actor: usize, step: Step) -> Result<Recorded, String> {
        let (at, owner) = (self.now, self.players[actor].owner);
        let (waited, reported) = (self.waiters().await, self.lock.reported());
        let answer = self.lock.take(owner, step).await?;
        self.players[actor].learn(step, answer);
        let after = self.lock.standing().await?;
        let now_told = self.lock.reported();
        let reported = (0..reported.len()).filter(|owner| now_told[*owner] > reported[*owner]);
        let reported: Vec<usize> = reported.collect();
        let mut waiters = Vec::new();
        for (owner, ask) in self.waiters().await {
            if waited.iter().any(|(waiter, _)| *waiter == owner) {
                let is_told = reported.contains(&owner);
                waiters.push(Waiter { owner, ask, is_told, must_be_told: false });
            }
        }
        Ok(Recorded { at, owner, step, answer, after, waiters, reported })
    }

    /// The waiters. One that lost its place in line is not woken.
    async fn waiters(&self) -> Vec<(usize, Ask)> {
        let mut waiters = Vec::new();
        for player in &self.players {
            if let Some(ask) = player.waits_for(self.history, self.now)
                && self.stands(player).await
            {
                waiters.push((player.owner, ask));
            }
        }
        waiters
    }

    async fn lost_its_place(&self, player: &Player) -> bool {
        if !self.history.kind.is_fair() || player.waits_for(self.history, self.now).is_none() {
            return false;
        }
        !self.stands(player).await
    }

    async fn stands(&self, player: &Player) -> bool {
        let standing = self.lock.standing().await.unwrap();
        standing.waiters.iter().any(|(waiter, _)| *waiter == player.owner)
    }
}
