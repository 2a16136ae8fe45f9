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
    let first = admitted(gate.enter(&key(), Access::Read, true));
    let mut writer = queued(gate.enter(&key(), Access::Write, true));
    let mut reader = queued(gate.enter(&key(), Access::Read, true));
    let mut reader_too = queued(gate.enter(&key(), Access::Read, true));
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
    let first = admitted(gate.enter(&key(), Access::Read, true));
    let writer = queued(gate.enter(&key(), Access::Write, true));
    drop(writer);
    let second = admitted(gate.enter(&key(), Access::Read, true));
    let writer = queued(gate.enter(&key(), Access::Write, true));
    let mut reader = queued(gate.enter(&key(), Access::Read, true));
    drop(writer);
    drop((first, second));
    assert!(reader.try_admitted().is_some());
}

#[test]
fn the_hurried_wait_for_the_leaving_alone() {
    let gate = Gate::new(1);
    let mut first = admitted(gate.enter(&key(), Access::Write, false));
    assert!(matches!(gate.enter(&key(), Access::Write, false), Entry::Busy));
    first.set_leaving(true);
    let mut next = queued(gate.enter(&key(), Access::Write, false));
    assert!(matches!(gate.enter(&key(), Access::Write, false), Entry::Busy));
    assert!(matches!(gate.enter(&key(), Access::Write, true), Entry::Full(1)));
    drop(first);
    assert!(next.try_admitted().is_some());
}

#[test]
fn upgrade_needs_the_sole_reader() {
    let gate = Gate::new(10);
    let mut first = admitted(gate.enter(&key(), Access::Read, true));
    let second = admitted(gate.enter(&key(), Access::Read, true));
    assert!(!first.upgrade());
    drop(second);
    assert!(first.upgrade());
    let mut reader = queued(gate.enter(&key(), Access::Read, true));
    first.downgrade();
    assert!(reader.try_admitted().is_some());
}

#[test]
fn who_waits_for_those_that_leave_does_not_wait_for_those_that_follow() {
    let gate = Gate::new(10);
    let mut first = admitted(gate.enter(&key(), Access::Line, true));
    let mut second = admitted(gate.enter(&key(), Access::Line, true));
    first.set_leaving(true);
    let mut leavers = gate.leavers(&key()).expect("one is leaving");
    second.set_leaving(true);
    let open = |leavers: &mut oneshot::Receiver<()>| {
        matches!(leavers.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    };
    assert!(open(&mut leavers));
    drop(first);
    assert!(!open(&mut leavers));
    second.set_leaving(false);
    assert!(gate.leavers(&key()).is_none());
}

#[test]
fn who_only_asks_for_a_permit_is_kept_back_by_those_alone_who_wait_for_one() {
    let gate = Gate::new(10);
    let mut asking = admitted(gate.enter(&key(), Access::Turn, true));
    drop(admitted(gate.enter(&key(), Access::Turn, false)));
    asking.refused();
    assert!(matches!(gate.enter(&key(), Access::Turn, false), Entry::Busy));
    asking.stay();
    let asking = admitted(gate.enter(&key(), Access::Turn, true));
    let waiting = queued(gate.enter(&key(), Access::Turn, true));
    assert!(matches!(gate.enter(&key(), Access::Turn, false), Entry::Busy));
    drop((asking, waiting));
}
