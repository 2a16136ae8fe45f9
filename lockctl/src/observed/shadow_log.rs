//! The lines of a shadow log, as JSON or as text.

use std::{collections::HashMap, io::BufRead};

use serde_json::Value;

use super::{ObservedError, lines::Lines};

/// The target of the events in lock-tower.
const TARGET: &str = "lock_tower::shadow";
/// A replay of as many takes seconds.
const MAX_REQUESTS: usize = 1_000_000;
/// The capacity of a lock that one writer fills. Readers take one each.
pub const WHOLE: u64 = 1 << 40;
const FORM: &str = "its lines are those of lock-tower's target `lock_tower::shadow`, unchanged";

/// One request of the log. Times are microseconds.
#[derive(Debug, Clone)]
pub struct Request {
    /// The index of its name.
    pub policy: usize,
    pub client: u32,
    pub has_modes: bool,
    pub is_read: bool,
    /// How much of the lock it takes, and how much there is.
    pub cost: u64,
    pub capacity: u64,
    /// In the order in which the lock takes them.
    pub keys: Vec<u32>,
    pub path: Option<u32>,
    pub arrived: u64,
    pub held: u64,
}

/// The requests of all rules and layers, in order of arrival.
#[derive(Debug, Default)]
pub struct ShadowLog {
    /// The names of rules and layers, with the line on which each was seen first.
    pub names: Vec<(String, super::lines::Place)>,
    pub requests: Vec<Request>,
    /// The numbers of hashes.
    numbers: HashMap<String, u32>,
    hashed_by: Option<String>,
}

/// Whether a line of a log is one of the shadow log.
pub fn is_one(line: &str) -> bool {
    line.contains(TARGET) && line.contains("arrived_us")
}

impl ShadowLog {
    pub fn add(&mut self, line: &str, lines: &Lines<impl BufRead>) -> Result<(), ObservedError> {
        let fields = fields(line).ok_or_else(|| {
            lines.wrong("this line of the shadow log is neither JSON nor text", FORM)
        })?;
        let text = |name: &str| {
            let missing = || lines.wrong(&format!("this line has no field `{name}`"), FORM);
            fields.get(name).map(String::as_str).ok_or_else(missing)
        };
        let number = |name: &str, text: &str| {
            let what = format!("`{name}` is not a number of at most 2^53");
            let number = text.parse().ok().filter(|number: &u64| *number <= 1 << 53);
            number.ok_or_else(|| lines.wrong(&what, FORM))
        };
        let optional = |name| fields.get(name).map_or(Ok(1), |text| number(name, text));
        let hashed_by = text("hashed_by")?;
        if self.hashed_by.get_or_insert_with(|| hashed_by.to_owned()) != hashed_by {
            return Err(lines.wrong(
                "the keys of this line are hashed otherwise than those above",
                "give the lines of one process alone, or set the same \
                 `LockClientBuilder::ticket_key` in every instance before recording",
            ));
        }
        let is_read = text("mode")? == "read";
        let kind = text("kind")?;
        let (cost, capacity) = match kind {
            "semaphore" => {
                let permits = optional("permits")?.max(1);
                (optional("weight")?.clamp(1, permits), permits)
            }
            _ if is_read => (1, WHOLE),
            _ => (WHOLE, WHOLE),
        };
        if self.requests.len() == MAX_REQUESTS {
            let help = "give a shorter part of the log, such as its busiest hour";
            return Err(lines.wrong("the log has more than 1,000,000 requests", help));
        }
        let policy = self.policy(text("policy")?, lines);
        let (client, path) = (text("client")?.to_owned(), fields.get("path").cloned());
        let keys: Vec<_> = text("keys")?.split(',').map(|key| self.number(key)).collect();
        let request = Request {
            policy,
            client: self.number(&client),
            has_modes: kind.ends_with("read_write"),
            is_read,
            cost,
            capacity,
            keys,
            path: path.map(|path| self.number(&path)),
            arrived: number("arrived_us", text("arrived_us")?)?,
            held: number("held_us", text("held_us")?)?,
        };
        self.requests.push(request);
        Ok(())
    }

    fn policy(&mut self, name: &str, lines: &Lines<impl BufRead>) -> usize {
        let known = self.names.iter().position(|(known, _)| known == name);
        known.unwrap_or_else(|| {
            self.names.push((name.to_owned(), lines.place()));
            self.names.len() - 1
        })
    }

    fn number(&mut self, hash: &str) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(hash.to_owned()).or_insert(next)
    }

    /// Lines are written when requests end; a replay needs them in order of arrival.
    pub fn in_order(mut self) -> Self {
        self.requests.sort_by_key(|request| request.arrived);
        self
    }

    /// Returns the time from the first arrival to the last, in seconds.
    pub fn seconds(&self) -> f64 {
        let at = |request: Option<&Request>| request.map_or(0, |request| request.arrived);
        let span = at(self.requests.last()) - at(self.requests.first());
        (span as f64 / 1e6).max(1e-3)
    }
}

/// Returns the fields of an event, as texts.
fn fields(line: &str) -> Option<HashMap<String, String>> {
    if line.trim_start().starts_with('{') {
        let json: Value = serde_json::from_str(line).ok()?;
        // With `flatten_event` the fields are beside the target.
        let fields = json.get("fields").unwrap_or(&json).as_object()?;
        return Some(fields.iter().map(|(name, value)| (name.clone(), as_text(value))).collect());
    }
    let line = without_colours(line);
    let (_, event) = line.rsplit_once(&format!("{TARGET}: "))?;
    Some(pairs(event))
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Removes the escape sequences with which tracing-subscriber colours a terminal.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

/// Returns each `name=value` and `name="value"`.
fn pairs(event: &str) -> HashMap<String, String> {
    let mut pairs = HashMap::new();
    let mut rest = event;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit(' ').next().unwrap_or_default().to_owned();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        pairs.insert(name, value.to_owned());
        rest = after;
    }
    pairs
}
