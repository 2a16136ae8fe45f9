//! The line in the value of a lock: how it is written, when it moves to the sorted sets and back, and that a
//! process whose scripts read this form but never write it shares locks with one that writes it.

use lock_core::test_util::sent_text;

use crate::scripts::native::call::{LINE, PLACES, acquire, leave, read, release, renew, write};
use crate::scripts::native::standing::{in_words, stopped, waiting};
use crate::scripts::support::call::{Call, LEASE, LONGER, PLACE_MS};
use crate::scripts::support::keys::LOCK;
use crate::scripts::support::store::{STOPPED_MS, Store};

const ENDS: i64 = STOPPED_MS + PLACE_MS;
const DEADLINE: i64 = STOPPED_MS + LEASE;
const RESERVED: i64 = STOPPED_MS + 50;

/// A deadline that was read off the TTL of the lock is a moment earlier.
async fn has_value(store: &Store, expected: &str) {
    let value = store.cli.string(LOCK).await.unwrap_or_default();
    assert_eq!(in_words(&value, STOPPED_MS), in_words(expected, STOPPED_MS), "{value}");
}

async fn has_no_sets(store: &Store) {
    assert!(!store.cli.exists(LINE).await && !store.cli.exists(PLACES).await);
}

#[tokio::test]
async fn a_few_waiters_are_in_the_value_from_the_first_refusal_to_the_last_turn() {
    let store = waiting(&[acquire("a:1")], &[acquire("b:2"), acquire("c:3")]).await;
    let both = format!("|w:b:2 {ENDS}|w:c:3 {ENDS}");
    has_value(&store, &format!("lt2ewa:1 0 1 {DEADLINE} {ENDS}{both}")).await;
    store.ask(&renew("e", "write", "a:1").with("lease", LONGER)).await;
    let longer = STOPPED_MS + LONGER;
    has_value(&store, &format!("lt2ewa:1 0 1 {longer} {ENDS}{both}")).await;
    store.replies(&release("ew", "a:1"), "DONE RESERVED").await;
    has_value(&store, &format!("lt2e-{ENDS}|w:b:2 {RESERVED}|w:c:3 {ENDS}")).await;
    // No other caller passes them.
    store.replies(&acquire("d:4").with("place", 0), "BUSY 50 0").await;
    assert_eq!(store.ask(&acquire("b:2")).await[0], "GRANTED");
    has_value(&store, &format!("lt2ewb:2 0 1 {DEADLINE} {ENDS}|w:c:3 {ENDS}")).await;
    store.replies(&release("ew", "b:2"), "DONE RESERVED").await;
    has_value(&store, &format!("lt2e-{RESERVED}|w:c:3 {RESERVED}")).await;
    assert_eq!(store.ask(&acquire("c:3")).await[0], "GRANTED");
    has_value(&store, "lt1ewc:3").await;
    has_no_sets(&store).await;
    store.replies(&release("ew", "c:3"), "DONE FREED").await;
    store.has([]).await;
}

#[tokio::test]
async fn a_waiter_that_comes_again_keeps_its_place() {
    let store = waiting(&[write("a:1")], &[read("b:2"), write("c:3")]).await;
    store.pass(1_000);
    assert_eq!(store.ask(&read("b:2")).await[0], "BUSY");
    let later = ENDS + 1_000;
    let line = format!("|r:b:2 {later}|w:c:3 {ENDS}");
    has_value(&store, &format!("lt2rwa:1 0 1 {DEADLINE} {later}{line}")).await;
    store.ask(&leave("r", &[("b:2", "read")])).await;
    has_value(&store, &format!("lt2rwa:1 0 1 {DEADLINE} {ENDS}|w:c:3 {ENDS}")).await;
}

/// More than the value has.
const MANY: usize = 100;

#[tokio::test]
async fn a_long_line_moves_to_the_sorted_sets_and_back_in_order() {
    let store = waiting(&[acquire("o:0")], &[]).await;
    let owners: Vec<String> =
        (1..=MANY).map(|number| format!("{}{number}:{number}", "client-".repeat(6))).collect();
    let mut was_long = 0;
    for owner in &owners {
        assert_eq!(store.ask(&acquire(owner)).await[0], "BUSY");
        was_long += usize::from(store.cli.exists(LINE).await);
    }
    assert!((1..MANY).contains(&was_long), "{was_long} of {MANY} came when it was long");
    let mut holder = "o:0".to_owned();
    for owner in &owners {
        store.replies(&release("ew", &holder), "DONE RESERVED").await;
        assert_eq!(store.ask(&acquire(owner)).await[0], "GRANTED", "{owner}");
        holder.clone_from(owner);
    }
    store.replies(&release("ew", &holder), "DONE FREED").await;
    store.has([]).await;
}

#[tokio::test]
async fn a_line_is_long_where_the_value_cannot_have_it() {
    // Several readers.
    let store = waiting(&[read("a:1")], &[write("c:3")]).await;
    has_no_sets(&store).await;
    assert_eq!(store.ask(&read("b:2").with("yields", 0)).await[0], "GRANTED");
    assert!(store.cli.exists(LINE).await && store.cli.type_of(LOCK).await == "zset");
    // The last of them makes it short again.
    store.replies(&release("rr", "a:1"), "DONE HELD").await;
    store.replies(&release("rr", "b:2"), "DONE RESERVED").await;
    has_value(&store, &format!("lt2r-{RESERVED}|w:c:3 {RESERVED}")).await;
    has_no_sets(&store).await;
    // A fair kind.
    let fair = ["a:1", "b:2"].map(|owner| acquire(owner).with("kind", "f"));
    let store = waiting(&fair[..1], &fair[1..]).await;
    assert!(store.cli.exists(LINE).await);
}

/// The text of a process that reads a line in the value and never writes one.
fn that_only_reads(call: &Call) -> String {
    const FAST_PATHS: [&str; 2] = [
        include_str!("../../../../../lock-core/src/redis/native/scripts/fast_path/acquire.lua"),
        include_str!("../../../../../lock-core/src/redis/native/scripts/fast_path/release.lua"),
    ];
    let limit = "'lt2', 50, 4096";
    assert!(call.text().contains(limit));
    let text = call.text().replace(limit, "'lt2', 50, 0");
    let without = FAST_PATHS.iter().map(|path| {
        let path = sent_text(path);
        text.replace(&format!("do\n{}\nend\n", path.trim_end()), "")
    });
    without
        .min_by_key(String::len)
        .filter(|without| without.len() < text.len())
        .expect("a fast path")
}

/// Writers of one lock, as the rules say what each is answered.
#[derive(Default)]
struct Expected {
    holder: Option<String>,
    /// In order of arrival, each until when its place lives.
    line: Vec<(String, i64)>,
}

impl Expected {
    fn acquires(&mut self, owner: &str, now: i64) -> bool {
        self.line.retain(|(one, ends)| one == owner || *ends > now);
        if self.holder.is_none() && self.line.first().is_none_or(|(first, _)| first == owner) {
            self.line.retain(|(one, _)| one != owner);
            self.holder = Some(owner.to_owned());
            return true;
        }
        match self.line.iter_mut().find(|(one, _)| one == owner) {
            Some(place) => place.1 = now + PLACE_MS,
            None => self.line.push((owner.to_owned(), now + PLACE_MS)),
        }
        self.wakes(now);
        false
    }

    fn wakes(&mut self, now: i64) {
        if let (None, Some(first)) = (&self.holder, self.line.first_mut()) {
            first.1 = first.1.min(now + 50);
        }
    }
}

/// A rolling change: the one half of the fleet reads what the other writes.
#[tokio::test]
async fn processes_that_only_read_the_form_and_those_that_write_it_take_turns() {
    let store = stopped().await;
    let mut random = fastrand::Rng::with_seed(44);
    let (mut expected, mut now, mut last_token) = (Expected::default(), STOPPED_MS, 0_u64);
    let mut grants = [0; 2];
    let mut numbers = [1; 4];
    for step in 0..3_000 {
        let at = random.usize(..4);
        let owner = format!("p{at}:{}", numbers[at]);
        let holds = expected.holder.as_ref() == Some(&owner);
        let waits = expected.line.iter().any(|(one, _)| *one == owner);
        let call = match random.u8(..10) {
            0 if !holds && waits => leave("e", &[(&owner, "write")]),
            1 if holds => renew("e", "write", &owner),
            _ if holds => release("ew", &owner),
            _ => acquire(&owner),
        };
        let only_reads = at.is_multiple_of(2);
        let reply = if only_reads && ["native/acquire", "native/release"].contains(&call.script) {
            store.try_ask_text(&call, &that_only_reads(&call)).await.expect("a reply")
        } else {
            store.ask(&call).await
        };
        let place = format!("step {step}, {owner}: {call:?}: {reply:?}");
        match call.script {
            "native/acquire" => {
                let granted = expected.acquires(&owner, now);
                assert_eq!(reply[0], if granted { "GRANTED" } else { "BUSY" }, "{place}");
                if granted {
                    let token: u64 = reply[1].parse().unwrap();
                    assert!(token > last_token, "{place}");
                    last_token = token;
                    grants[usize::from(only_reads)] += 1;
                }
            }
            "native/release" => {
                expected.holder = None;
                expected.line.retain(|(_, ends)| *ends > now);
                let status = if expected.line.is_empty() { "FREED" } else { "RESERVED" };
                assert_eq!(reply, ["DONE", status], "{place}");
                expected.wakes(now);
                numbers[at] += 1;
            }
            "native/leave" => {
                expected.line.retain(|(one, ends)| *one != owner && *ends > now);
                expected.wakes(now);
                numbers[at] += 1;
            }
            _ => assert_eq!(reply, ["RENEWED", "1"], "{place}"),
        }
        let passed = random.i64(0..40);
        now += passed;
        store.pass(passed);
    }
    assert!(grants.iter().all(|granted| *granted > 100), "{grants:?}");
}
