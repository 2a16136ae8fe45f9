use super::*;

fn key() -> LockKey {
    LockKey::try_from("k").expect("a key")
}

impl QueuePlace {
    fn try_admitted(&mut self) -> Option<Permit> {
        let permit = self.admitted.as_mut()?.try_recv().ok()?;
        self.admitted = None;
        Some(permit)
    }
}

fn admitted(entry: Entry) -> Permit {
    match entry {
        Entry::Admitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn queued(entry: Entry) -> QueuePlace {
    match entry {
        Entry::Queued(place) => place,
        other => panic!("{other:?}"),
    }
}

#[test]
fn first_come_first_served_and_readers_together() {
    let gate = Gate::new(10);
    let first = admitted(gate.enter(&key(), Mode::Read, Patience::Waits));
    let mut writer = queued(gate.enter(&key(), Mode::Write, Patience::Waits));
    let mut reader = queued(gate.enter(&key(), Mode::Read, Patience::Waits));
    let mut reader_too = queued(gate.enter(&key(), Mode::Read, Patience::Waits));
    assert!(reader.try_admitted().is_none(), "a reader stands behind an earlier writer");
    drop(first);
    let permit = writer.try_admitted().expect("the writer's turn");
    assert!(reader.try_admitted().is_none());
    drop(permit);
    let both = (reader.try_admitted(), reader_too.try_admitted());
    assert!(both.0.is_some() && both.1.is_some());
    drop(both);
    assert!(gate.lock().is_empty(), "nothing is kept for a key that nobody uses");
}

#[test]
fn who_gives_up_blocks_nobody() {
    let gate = Gate::new(10);
    let first = admitted(gate.enter(&key(), Mode::Read, Patience::Waits));
    let writer = queued(gate.enter(&key(), Mode::Write, Patience::Waits));
    drop(writer);
    let second = admitted(gate.enter(&key(), Mode::Read, Patience::Waits));
    let writer = queued(gate.enter(&key(), Mode::Write, Patience::Waits));
    let mut reader = queued(gate.enter(&key(), Mode::Read, Patience::Waits));
    drop(writer);
    drop((first, second));
    assert!(reader.try_admitted().is_some());
}

#[test]
fn the_hurried_wait_for_the_leaving_alone() {
    let gate = Gate::new(1);
    let mut first = admitted(gate.enter(&key(), Mode::Write, Patience::Hurries));
    assert!(matches!(gate.enter(&key(), Mode::Write, Patience::Hurries), Entry::Busy));
    first.set_leaving(true);
    let mut next = queued(gate.enter(&key(), Mode::Write, Patience::Hurries));
    assert!(matches!(gate.enter(&key(), Mode::Write, Patience::Hurries), Entry::Busy));
    assert!(matches!(gate.enter(&key(), Mode::Write, Patience::Waits), Entry::Full(1)));
    drop(first);
    assert!(next.try_admitted().is_some());
}

#[test]
fn upgrade_needs_the_sole_reader() {
    let gate = Gate::new(10);
    let mut first = admitted(gate.enter(&key(), Mode::Read, Patience::Waits));
    let second = admitted(gate.enter(&key(), Mode::Read, Patience::Waits));
    assert!(!first.upgrade());
    drop(second);
    assert!(first.upgrade());
    let mut reader = queued(gate.enter(&key(), Mode::Read, Patience::Waits));
    first.downgrade();
    assert!(reader.try_admitted().is_some());
}
