//! When two states are the same: times count from now, tokens and places by their order, and clients
//! by what they do, not by their names.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{
    LONG_WAIT_MS,
    lock_use::owners,
    names::{K, NATIVE_K, SYMBOLS},
    state::{Client, Hold, ModelState},
};
use crate::redis::{Entry, Value};

/// Above this a time to live makes no difference.
const LONG_MS: i64 = 60_000;

/// After so long nothing is believed in of what was tried.
const LONG_TRY_MS: i64 = 3_000;

/// How many digits milliseconds and microseconds of these years have.
const MS_DIGITS: usize = 13;
const US_DIGITS: usize = 16;

impl Hash for ModelState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let locals: Vec<u64> = self.clients.iter().map(|client| self.local(client)).collect();
        let mut order: Vec<usize> = (0..locals.len()).collect();
        order.sort_by_key(|at| locals[*at]);
        let least = orders(&locals, &order).into_iter().map(|order| self.named(&order)).min();
        least.hash(state);
        self.operations.hash(state);
        self.wrong.hash(state);
        (self.evicted, self.redis.is_full()).hash(state);
        for at in order {
            locals[at].hash(state);
        }
    }
}

/// Every order of clients that look the same; those that do not have one order among them.
fn orders(locals: &[u64], sorted: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![sorted.to_vec()];
    for from in 0..sorted.len() {
        for to in from + 1..sorted.len() {
            if locals[sorted[from]] == locals[sorted[to]] {
                let swapped = all.iter().map(|order| {
                    let mut order = order.clone();
                    order.swap(from, to);
                    order
                });
                let swapped: Vec<_> = swapped.collect();
                all.extend(swapped);
            }
        }
    }
    all
}

impl ModelState {
    /// What a client is, whatever its name.
    fn local(&self, client: &Client) -> u64 {
        let mut hasher = DefaultHasher::new();
        let now = self.now();
        for hold in [&client.hold, &client.stale] {
            hold.as_ref().map(|hold| relative(hold, now)).hash(&mut hasher);
        }
        let hold_of = |slot: &Option<Hold>| slot.as_ref().map(|hold| hold.owner);
        let late = client.late.as_ref().map(|(owner, op)| {
            (Some(*owner) == hold_of(&client.hold), Some(*owner) == hold_of(&client.stale), op)
        });
        late.hash(&mut hasher);
        let known = |token: i64| (token.cmp(&self.highest), token.cmp(&self.redis.now_us()));
        let tried = client.hold.as_ref().and_then(|hold| hold.tried);
        let tried = tried.map(|tried| {
            ((tried.sent - now).max(-LONG_TRY_MS), known(tried.known), tried.token.map(known))
        });
        (known(client.known), client.raised, tried).hash(&mut hasher);
        hasher.finish()
    }

    /// What stands in Redis, with the owners renamed in this order of clients.
    fn named(&self, order: &[usize]) -> u64 {
        let mut names: [u8; 256] = std::array::from_fn(|byte| u8::try_from(byte).unwrap_or(0));
        let mut next = SYMBOLS.iter();
        for &at in order {
            let client = &self.clients[at];
            let holds = [&client.hold, &client.stale].into_iter().flatten();
            let mut own: Vec<u8> = holds.map(|hold| hold.owner).collect();
            own.extend(client.late.iter().map(|late| late.0));
            own.extend(owners(order.len(), at));
            let mut seen = Vec::new();
            for owner in own {
                if !seen.contains(&owner) {
                    seen.push(owner);
                    let symbol = SYMBOLS[usize::from(owner)];
                    names[usize::from(symbol)] = *next.next().unwrap_or(&symbol);
                }
            }
        }
        let now = self.now();
        let entries = self.redis.entries().map(|(key, entry)| {
            let is_token = key == K.token || key == NATIVE_K.token;
            let highest = is_token.then_some(self.highest);
            print(key, entry, &names, now, highest)
        });
        entries.fold(0_u64, u64::wrapping_add)
    }
}

/// One key with the owners renamed; of a token it counts how it stands to the highest.
pub(crate) fn print(
    key: &[u8],
    entry: &Entry,
    names: &[u8; 256],
    now: i64,
    highest: Option<i64>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    renamed(key, names, &mut hasher);
    entry.ends.map(|ends| (ends - now).min(LONG_MS)).hash(&mut hasher);
    if let Some(highest) = highest {
        let Value::Text(token) = &entry.value else { return hasher.finish() };
        let token: i64 =
            std::str::from_utf8(token).ok().and_then(|it| it.parse().ok()).unwrap_or(-1);
        token.cmp(&highest).hash(&mut hasher);
        return hasher.finish();
    }
    match &entry.value {
        Value::Text(text) => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let since = std::str::from_utf8(&text[..digits]).ok();
            let since = since.and_then(|since| since.parse::<i64>().ok());
            since.map(|it| if digits == MS_DIGITS { it - now } else { it }).hash(&mut hasher);
            // The value of a lock on the native wire has its deadline and its line behind it.
            for word in text[digits..].split_inclusive(|byte| b" -|".contains(byte)) {
                let marked = usize::from(word.last().is_some_and(|last| b" -|".contains(last)));
                let (end, mark) = word.split_at(word.len() - marked);
                let ends =
                    (end.len() == MS_DIGITS).then(|| std::str::from_utf8(end).ok()).flatten();
                match ends.and_then(|ends| ends.parse::<i64>().ok()) {
                    Some(ends) => (ends - now).max(0).hash(&mut hasher),
                    None => renamed(end, names, &mut hasher),
                }
                hasher.write(mark);
            }
        }
        Value::Hash(fields) => {
            let each = fields.iter().map(|(field, value)| alone(field, value, names, now));
            each.fold(0_u64, u64::wrapping_add).hash(&mut hasher);
        }
        Value::List(items) | Value::Set(items) => {
            for item in items {
                renamed(item, names, &mut hasher);
            }
        }
        Value::Sorted(members) => {
            let each = members.iter().enumerate().map(|(place, one)| {
                let mut hasher = DefaultHasher::new();
                renamed(&one.member, names, &mut hasher);
                #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
                let score = one.score as i64;
                // Writers stand in a line once more, by their number negated.
                match score.abs().to_string().len() {
                    MS_DIGITS => (score - now).max(0).hash(&mut hasher),
                    // Its order, and for a semaphore how long it has waited.
                    US_DIGITS => {
                        let age = now - score.abs() / 1_000;
                        (place, age.clamp(0, LONG_WAIT_MS)).hash(&mut hasher);
                    }
                    _ => score.hash(&mut hasher),
                }
                hasher.finish()
            });
            each.fold(0_u64, u64::wrapping_add).hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn renamed(bytes: &[u8], names: &[u8; 256], hasher: &mut DefaultHasher) {
    let mut buffer = [0; 64];
    for chunk in bytes.chunks(buffer.len()) {
        for (to, from) in buffer.iter_mut().zip(chunk) {
            *to = names[usize::from(*from)];
        }
        hasher.write(&buffer[..chunk.len()]);
    }
    hasher.write_u8(0xff);
}

fn alone(field: &[u8], value: &[u8], names: &[u8; 256], now: i64) -> u64 {
    let mut hasher = DefaultHasher::new();
    renamed(field, names, &mut hasher);
    match place(value) {
        Some((since, until)) => (since - now, (until - now).max(0)).hash(&mut hasher),
        None => hasher.write(value),
    }
    hasher.finish()
}

/// Since when a waiter waits, and until when its place lives.
fn place(value: &[u8]) -> Option<(i64, i64)> {
    let (since, until) = std::str::from_utf8(value).ok()?.split_once(':')?;
    Some((since.parse().ok()?, until.parse().ok()?))
}

fn relative(hold: &Hold, now: i64) -> impl Hash {
    let Hold { requested, guards, stored, doubt, leaving, taken, in_line, .. } = hold.clone();
    let left = |until: i64| (until - now).max(0);
    let times = (left(hold.until), left(hold.reads_until));
    // The past has no effect any more, except on waiters.
    let waiting = hold.requests().then(|| (now - hold.since, hold.yields_until.map(left)));
    (requested, (guards, stored), (doubt, leaving, taken), in_line, times, waiting)
}
