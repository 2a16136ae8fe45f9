//! Replays a shadow log under other settings, as a simulation of events.
//!
//! Each request arrives when it did, and holds its locks for as long as its work took. The locks of
//! a key are granted in order of arrival: a writer alone, readers together, a semaphore to as many
//! as there are permits. A request that is not granted within its wait is refused, and its client
//! does not retry. A request with several keys waits for one after the other, in their order.

use std::{cmp::Reverse, collections::BinaryHeap};

use lockctl::observed::shadow_log::{Request, WHOLE};

use super::queue::{KeyQueue, Visit};

/// What a replay needs of a rule. Times are microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplaySettings {
    pub(crate) wait: u64,
    pub(crate) hold_at_least: u64,
    pub(crate) max_hold: Option<u64>,
    pub(crate) lease: u64,
    pub(crate) renews: bool,
    pub(crate) max_handoffs: u32,
    /// Whether all requests read, or all write; `None`: as they did.
    pub(crate) all_read: Option<bool>,
    /// Whether each path has a key of its own.
    pub(crate) key_per_path: bool,
}

/// What happened to a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    /// `None` if it was refused.
    pub(crate) waited: Option<u64>,
    /// The commands to the store for it.
    pub(crate) commands: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    // A lock that is released in the moment in which a wait ends is still granted.
    Release,
    WaitEnds,
}

struct Replay<'r> {
    requests: &'r [Request],
    visits: Vec<Visit>,
    keys: Vec<Vec<u32>>,
    /// How many of its keys each request has.
    taken: Vec<usize>,
    commands: Vec<u64>,
    settings: &'r [ReplaySettings],
    queues: Vec<KeyQueue>,
    events: BinaryHeap<Reverse<(u64, Event, u32)>>,
    fates: Vec<Option<Fate>>,
}

/// Returns what happens to each of the requests, which are in order of arrival. `settings` are by
/// the indices of their policies.
pub(crate) fn replay(requests: &[Request], settings: &[ReplaySettings]) -> Vec<Fate> {
    let keys: Vec<_> = requests.iter().map(|request| keys(request, settings)).collect();
    let count = keys.iter().flatten().max().map_or(0, |last| *last as usize + 1);
    let mut replay = Replay {
        requests,
        visits: requests.iter().map(|request| visit(request, settings)).collect(),
        keys,
        taken: vec![0; requests.len()],
        commands: vec![0; requests.len()],
        settings,
        queues: (0..count).map(|_| KeyQueue::default()).collect(),
        events: BinaryHeap::new(),
        fates: vec![None; requests.len()],
    };
    for (number, request) in (0_u32..).zip(requests) {
        replay.run_until(request.arrived);
        replay.arrive(number);
    }
    replay.run_until(u64::MAX);
    replay.fates.into_iter().map(Option::unwrap_or_default).collect()
}

fn keys(request: &Request, settings: &[ReplaySettings]) -> Vec<u32> {
    match request.path {
        Some(path) if settings[request.policy].key_per_path => vec![path],
        _ => request.keys.clone(),
    }
}

fn visit(request: &Request, settings: &[ReplaySettings]) -> Visit {
    let settings = &settings[request.policy];
    let is_read = settings.all_read.filter(|_| request.has_modes).unwrap_or(request.is_read);
    let cost = match request.capacity {
        WHOLE if is_read => 1,
        WHOLE => WHOLE,
        _ => request.cost,
    };
    Visit {
        client: request.client,
        is_read,
        cost,
        capacity: request.capacity,
        max_handoffs: if settings.renews { settings.max_handoffs } else { 0 },
        handoff_time: settings.lease / 3,
    }
}

impl Replay<'_> {
    fn run_until(&mut self, limit: u64) {
        while let Some(Reverse((at, event, number))) = self.events.peek().copied()
            && at <= limit
        {
            self.events.pop();
            match event {
                Event::Release => self.release(number, at),
                Event::WaitEnds => self.refuse(number, at),
            }
        }
    }

    fn arrive(&mut self, number: u32) {
        let now = self.requests[number as usize].arrived;
        self.proceed(number, now, false);
        if self.fates[number as usize].is_none() {
            let ends = now.saturating_add(self.settings(number).wait);
            self.events.push(Reverse((ends, Event::WaitEnds, number)));
        }
    }

    /// Takes the request's keys one after the other, as far as they are free.
    fn proceed(&mut self, number: u32, now: u64, passed_on: bool) {
        let (index, visit) = (number as usize, self.visits[number as usize]);
        while let Some(key) = self.keys[index].get(self.taken[index]).copied() {
            let queue = &mut self.queues[key as usize];
            if !passed_on && !queue.admits(number, &visit, now) {
                return queue.wait(number, visit.client);
            }
            let was_refused = now > self.requests[index].arrived && queue.contends(visit.client);
            if queue.grant(number, &visit, now, passed_on) {
                // It is acquired and released; a waiter was refused before that.
                self.commands[index] += 2 + u64::from(was_refused);
            }
            self.taken[index] += 1;
        }
        self.grant(number, now);
    }

    fn grant(&mut self, number: u32, now: u64) {
        let (request, settings) = (&self.requests[number as usize], *self.settings(number));
        let held = request.held.max(settings.hold_at_least);
        let held = settings.max_hold.map_or(held, |most| held.min(most));
        let renewals = if settings.renews { held / (settings.lease / 3).max(1) } else { 0 };
        let commands = self.commands[number as usize] + renewals;
        let waited = Some(now - request.arrived);
        self.fates[number as usize] = Some(Fate { waited, commands });
        self.events.push(Reverse((now.saturating_add(held), Event::Release, number)));
    }

    fn refuse(&mut self, number: u32, now: u64) {
        let (index, client) = (number as usize, self.visits[number as usize].client);
        if self.fates[index].is_some() {
            return;
        }
        let waits_for = self.keys[index][self.taken[index]];
        let queue = &mut self.queues[waits_for as usize];
        // One command was refused, and another one leaves the queue.
        let contends = queue.contends(client) && queue.first() == Some(number);
        let commands = if contends { 2 } else { 0 };
        queue.leave(number, client);
        // What it took for the other keys was only its turn: nothing was granted by the store.
        self.fates[index] = Some(Fate { waited: None, commands });
        self.give_back(number);
        self.wake(number, now);
    }

    fn give_back(&mut self, number: u32) {
        let (index, visit) = (number as usize, self.visits[number as usize]);
        for key in &self.keys[index][..self.taken[index]] {
            self.queues[*key as usize].release(&visit);
        }
    }

    fn release(&mut self, number: u32, now: u64) {
        let visit = self.visits[number as usize];
        self.give_back(number);
        // A lock on several keys is not passed on.
        if let [key] = self.keys[number as usize][..]
            && let Some(next) = self.queues[key as usize].successor(visit.client, now)
            && !visit.is_read
            && !self.visits[next as usize].is_read
            && self.keys[next as usize].len() == 1
        {
            return self.proceed(next, now, true);
        }
        self.wake(number, now);
    }

    /// Lets the waiters go on for which a key of this request has become free.
    fn wake(&mut self, number: u32, now: u64) {
        for at in 0..self.keys[number as usize].len() {
            let key = self.keys[number as usize][at];
            while let Some(next) = self.queues[key as usize].first()
                && self.queues[key as usize].admits(next, &self.visits[next as usize], now)
            {
                self.proceed(next, now, false);
                self.join(key, self.visits[next as usize].client, now);
            }
        }
    }

    /// Grants the lock to the readers of a client that join the one that was granted.
    fn join(&mut self, key: u32, client: u32, now: u64) {
        while let Some(next) = self.queues[key as usize].first_of(client)
            && self.queues[key as usize].is_shared(&self.visits[next as usize], now)
            && self.keys[next as usize].len() == 1
        {
            self.proceed(next, now, true);
        }
    }

    fn settings(&self, number: u32) -> &ReplaySettings {
        &self.settings[self.requests[number as usize].policy]
    }
}
