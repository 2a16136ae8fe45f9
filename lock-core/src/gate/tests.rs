use super::*;

/// A wait that lasts for as long as the test.
fn long() -> Option<Wait> {
    Some(Wait { until: Instant::now() + Duration::from_secs(60), shortest_hold: None })
}

fn key() -> LockKey {
    LockKey::try_from("k").expect("a key")
}

impl QueuePlace<()> {
    fn try_admitted(&mut self) -> Option<Permit<()>> {
        let permit = self.admitted.as_mut()?.try_recv().ok()?.permit();
        self.admitted = None;
        Some(permit)
    }
}

fn admitted(entry: EnterResult<()>) -> Permit<()> {
    match entry {
        EnterResult::Admitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn queued(entry: EnterResult<()>) -> QueuePlace<()> {
    match entry {
        EnterResult::Queued(place) => place,
        other => panic!("{other:?}"),
    }
}

#[test]
fn first_come_first_served_and_readers_together() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let first = admitted(gate.enter(&key(), Access::Read, long(), None, None));
    let mut writer = queued(gate.enter(&key(), Access::Write, long(), None, None));
    let mut reader = queued(gate.enter(&key(), Access::Read, long(), None, None));
    let mut reader_too = queued(gate.enter(&key(), Access::Read, long(), None, None));
    assert!(reader.try_admitted().is_none(), "a reader stands behind an earlier writer");
    drop(first);
    let permit = writer.try_admitted().expect("the writer's turn");
    assert!(reader.try_admitted().is_none());
    drop(permit);
    let both = (reader.try_admitted(), reader_too.try_admitted());
    assert!(both.0.is_some() && both.1.is_some());
    drop(both);
    assert!(gate.lock().is_empty(), "nothing is kept for an unused key");
}

#[test]
fn a_caller_that_gives_up_blocks_no_other() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let first = admitted(gate.enter(&key(), Access::Read, long(), None, None));
    let writer = queued(gate.enter(&key(), Access::Write, long(), None, None));
    drop(writer);
    let second = admitted(gate.enter(&key(), Access::Read, long(), None, None));
    let writer = queued(gate.enter(&key(), Access::Write, long(), None, None));
    let mut reader = queued(gate.enter(&key(), Access::Read, long(), None, None));
    drop(writer);
    drop((first, second));
    assert!(reader.try_admitted().is_some());
}

#[test]
fn the_hurried_wait_for_the_leaving_alone() {
    let gate = Gate::<()>::new(1, usize::MAX);
    let mut first = admitted(gate.enter(&key(), Access::Write, None, None, None));
    assert!(matches!(gate.enter(&key(), Access::Write, None, None, None), EnterResult::Busy));
    first.set_releasing(true);
    let mut next = queued(gate.enter(&key(), Access::Write, None, None, None));
    assert!(matches!(gate.enter(&key(), Access::Write, None, None, None), EnterResult::Busy));
    assert!(matches!(gate.enter(&key(), Access::Write, long(), None, None), EnterResult::Full(1)));
    drop(first);
    assert!(next.try_admitted().is_some());
}

#[test]
fn upgrade_needs_the_sole_reader() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let mut first = admitted(gate.enter(&key(), Access::Read, long(), None, None));
    let second = admitted(gate.enter(&key(), Access::Read, long(), None, None));
    assert!(!first.upgrade());
    drop(second);
    assert!(first.upgrade());
    let mut reader = queued(gate.enter(&key(), Access::Read, long(), None, None));
    first.downgrade();
    assert!(reader.try_admitted().is_some());
}

#[test]
fn a_wait_for_leavers_excludes_later_leavers() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let mut first = admitted(gate.enter(&key(), Access::StoreQueued, long(), None, None));
    let mut second = admitted(gate.enter(&key(), Access::StoreQueued, long(), None, None));
    first.set_releasing(true);
    let mut pending_releases = gate.pending_releases(&key()).expect("one is leaving");
    second.set_releasing(true);
    let open = |pending_releases: &mut oneshot::Receiver<()>| {
        matches!(pending_releases.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    };
    assert!(open(&mut pending_releases));
    drop(first);
    assert!(!open(&mut pending_releases));
    assert!(gate.pending_releases(&key()).is_some(), "the second still is");
    second.set_releasing(false);
    assert!(gate.pending_releases(&key()).is_none());
}

#[test]
fn a_wait_for_several_leavers_ends_with_the_last() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = || admitted(gate.enter(&key(), Access::StoreQueued, long(), None, None));
    let (mut first, mut second, _stays) = (enter(), enter(), enter());
    first.set_releasing(true);
    second.set_releasing(true);
    let mut pending_releases = gate.pending_releases(&key()).expect("two are leaving");
    drop(first);
    assert!(matches!(pending_releases.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
    drop(second);
    assert!(matches!(pending_releases.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
}

#[test]
fn a_permit_request_yields_only_to_permit_waiters() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let mut asking = admitted(gate.enter(&key(), Access::SingleContender, long(), None, None));
    drop(admitted(gate.enter(&key(), Access::SingleContender, None, None, None)));
    asking.refused();
    assert!(matches!(
        gate.enter(&key(), Access::SingleContender, None, None, None),
        EnterResult::Busy
    ));
    asking.stay();
    let mut asking = admitted(gate.enter(&key(), Access::SingleContender, long(), None, None));
    let waiting = queued(gate.enter(&key(), Access::SingleContender, long(), None, None));
    drop(admitted(gate.enter(&key(), Access::SingleContender, None, None, None)));
    asking.refused();
    assert!(matches!(
        gate.enter(&key(), Access::SingleContender, None, None, None),
        EnterResult::Busy
    ));
    drop((asking, waiting));
}

#[test]
fn a_smaller_queue_limit_refuses_sooner() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = |most| gate.enter(&key(), Access::Write, long(), most, None);
    let mut first = admitted(enter(Some(0)));
    assert!(matches!(enter(Some(0)), EnterResult::Full(0)));
    let one = queued(enter(Some(1)));
    assert!(matches!(enter(Some(1)), EnterResult::Full(1)));
    let two = queued(enter(None));
    // A permit inside waits too once the store has refused it, but not for those behind it.
    first.wait(Some(1)).expect("room for one");
    assert!(matches!(enter(Some(3)), EnterResult::Full(3)));
    first.wait_no_more();
    drop(queued(enter(Some(3))));
    drop((one, two));
    first.set_releasing(true);
    let mut next = queued(enter(Some(0)));
    assert!(matches!(enter(Some(0)), EnterResult::Full(1)));
    drop(first);
    assert!(next.try_admitted().is_some());
}

#[test]
fn a_refused_caller_waits_in_the_store_queue() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = |most| gate.enter(&key(), Access::StoreQueued, long(), most, None);
    let mut first = admitted(enter(Some(1)));
    let mut second = admitted(enter(Some(1)));
    assert!(matches!(enter(Some(1)), EnterResult::Full(2)), "a crowd sends nothing");
    first.wait(Some(1)).expect("room for one");
    assert!(second.wait(Some(1)).is_err_and(|over| over.waiters() == 1));
    drop(second);
    assert!(matches!(enter(Some(1)), EnterResult::Full(1)));
    drop(first);
    let mut holds = admitted(enter(Some(0)));
    holds.stay();
    assert!(admitted(enter(Some(0))).wait(Some(0)).is_err_and(|over| over.waiters() == 0));
    drop(holds);
    assert!(gate.lock().is_empty(), "none stays");
}

#[test]
fn waiters_before_all_keys_are_bounded_and_counted() {
    let gate = Gate::<()>::new(10, 2);
    let other = LockKey::try_from("other").expect("a key");
    let write = |key: &LockKey| gate.enter(key, Access::Write, long(), None, None);
    let (first, beside) = (admitted(write(&key())), admitted(write(&other)));
    let mut second = queued(write(&key()));
    let place = queued(write(&other));
    assert!(matches!(write(&other), EnterResult::FullInAll(2)));
    assert!(
        matches!(gate.enter(&other, Access::Write, None, None, None), EnterResult::Busy),
        "waits not"
    );
    drop(place);
    let place = queued(write(&key()));
    assert!(matches!(write(&key()), EnterResult::FullInAll(2)));

    // An acquisition that is admitted no longer counts, until the store refuses it.
    drop(first);
    let mut permit = second.try_admitted().expect("its turn");
    permit.queued = true;
    drop(second);
    let last = queued(write(&other));
    assert!(permit.wait(None).is_ok(), "a waiter is not refused");
    drop(last);
    assert!(matches!(write(&other), EnterResult::FullInAll(2)));
    permit.wait_no_more();
    drop((queued(write(&other)), place, permit));

    // An acquisition that has not waited yet is not admitted if others fill the limit.
    let mut beside = beside;
    let full = (queued(write(&other)), queued(write(&other)));
    assert!(beside.wait(None).is_err_and(|over| over.is_total() && over.waiters() == 2));
    drop(full);
    assert!(beside.wait(None).is_ok());
    drop(beside);
    assert!(gate.lock().is_empty());
    assert!(matches!(
        gate.enter(&key(), Access::Write, long(), None, None),
        EnterResult::Admitted(_)
    ));
}

#[test]
fn a_left_queue_place_takes_no_room() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = || gate.enter(&key(), Access::Write, long(), Some(2), None);
    let first = admitted(enter());
    let one = queued(enter());
    drop(queued(enter()));
    let two = queued(enter());
    assert!(matches!(enter(), EnterResult::Full(2)));
    drop((first, one, two));
    assert!(gate.lock().is_empty());
}

#[test]
fn the_hurried_wait_together_only_to_read_together() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = |access| gate.enter(&key(), access, None, None, None);
    let mut first = admitted(enter(Access::Write));
    first.set_releasing(true);
    let mut reads = [queued(enter(Access::Read)), queued(enter(Access::Read))];
    assert!(matches!(enter(Access::Write), EnterResult::Busy));
    drop(first);
    assert!(reads.iter_mut().all(|read| read.try_admitted().is_some()));
    let mut first = admitted(enter(Access::Write));
    first.set_releasing(true);
    let write = queued(enter(Access::Write));
    assert!(matches!(enter(Access::Read), EnterResult::Busy));
    drop(write);
}

#[test]
fn past_store_waiters_do_not_count_and_tries_pass() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = |access, waits| {
        gate.enter(&key(), access, if waits { long() } else { None }, Some(1), None)
    };
    let mut waiting = admitted(enter(Access::StoreQueued, true));
    for _ in 0..10 {
        drop(admitted(enter(Access::StoreQueued, true)));
    }
    waiting.wait(Some(1)).expect("room for one");
    assert!(matches!(enter(Access::StoreQueued, true), EnterResult::Full(_)));
    drop(admitted(enter(Access::StoreQueued, false)));
    drop(waiting);
    // A reader that waits for the store does not keep other readers from contending.
    let mut waiting = admitted(enter(Access::Read, true));
    waiting.wait(Some(1)).expect("room for one");
    drop(admitted(enter(Access::Read, true)));
}

#[test]
fn the_store_queue_is_bounded_until_leaves_are_confirmed() {
    let gate = Gate::<()>::new(1_000, usize::MAX);
    let enter = || gate.enter(&key(), Access::StoreQueued, long(), None, None);
    let mut state: Vec<_> = (0..MAX_IN_LINE).map(|_| admitted(enter())).collect();
    for permit in &mut state {
        permit.wait(None).expect("room for all");
    }
    let (mut next, mut last) = (queued(enter()), queued(enter()));
    let mut leaves = state.pop().expect("one");
    leaves.set_releasing(true);
    assert!(next.try_admitted().is_none(), "its place may still stand in the store");
    drop(leaves);
    let next = next.try_admitted().expect("the place is gone");
    assert!(last.try_admitted().is_none(), "in order of arrival");
    drop((next, last));
}

#[test]
fn a_waiter_that_gives_up_takes_no_room_during_release() {
    let gate = Gate::<()>::new(1, usize::MAX);
    let enter = || gate.enter(&key(), Access::StoreQueued, long(), None, None);
    let mut gives_up = admitted(enter());
    gives_up.wait(None).expect("room for one");
    assert!(matches!(enter(), EnterResult::Full(1)));
    gives_up.set_releasing(true);
    gives_up.leave_sent();
    admitted(enter()).wait(None).expect("the first waits no more");
}

#[test]
fn new_store_queue_places_wait_until_leavers_are_sent() {
    let gate = Gate::<()>::new(10, usize::MAX);
    let enter = |waits| {
        gate.enter(&key(), Access::StoreQueued, if waits { long() } else { None }, None, None)
    };
    let (mut one, mut other) = (admitted(enter(true)), admitted(enter(true)));
    one.set_releasing(true);
    other.set_releasing(true);
    // An acquisition that does not wait takes no place.
    drop(admitted(enter(false)));
    let (mut next, mut last) = (queued(enter(true)), queued(enter(true)));
    one.leave_sent();
    assert!(next.try_admitted().is_none(), "the other one is still to be sent");
    other.leave_sent();
    let both = (next.try_admitted(), last.try_admitted());
    assert!(both.0.is_some() && both.1.is_some(), "they need not be gone");
    drop((both, one, other));
    assert!(gate.lock().is_empty());

    // A permit that is dropped before its command was sent keeps no others waiting either.
    let mut gone = admitted(enter(true));
    gone.set_releasing(true);
    let mut next = queued(enter(true));
    drop(gone);
    assert!(next.try_admitted().is_some());
}

/// A write that waits until `until` among holds of at least `hold`.
fn writes(until: Instant, hold: Duration) -> Option<Wait> {
    Some(Wait { until, shortest_hold: Some(hold) })
}

#[test]
fn a_wait_behind_holds_that_last_beyond_its_end_is_in_vain() {
    const SECOND: Duration = Duration::from_secs(1);
    let gate = Gate::<()>::new(100, usize::MAX);
    let now = Instant::now();
    let write = |wait| gate.enter(&key(), Access::Write, wait, None, None);
    let _first = admitted(write(writes(now + SECOND * 60, SECOND)));
    // Ten that wait for a minute: at least five seconds, by halves of the shortest hold.
    let line: Vec<_> = (0..10).map(|_| queued(write(writes(now + SECOND * 60, SECOND)))).collect();
    assert!(matches!(write(writes(now + SECOND * 4, SECOND)), EnterResult::InVain));
    let _in_time = queued(write(writes(now + SECOND * 6, SECOND)));
    let _unknown = queued(write(Some(Wait { until: now + SECOND * 4, shortest_hold: None })));
    let reads = gate.enter(&key(), Access::Read, writes(now + SECOND * 4, SECOND), None, None);
    assert!(matches!(reads, EnterResult::Queued(_)), "readers share");
    // Those that have left are not ahead any more, and one alone is not enough.
    drop(reads);
    let mut line = line.into_iter();
    let _last = line.next();
    drop(line);
    drop((_in_time, _unknown));
    let _again = queued(write(writes(now + SECOND / 10, SECOND)));
}

#[test]
fn a_caller_ahead_that_leaves_earlier_makes_no_wait_vain() {
    const SECOND: Duration = Duration::from_secs(1);
    let gate = Gate::<()>::new(100, usize::MAX);
    let now = Instant::now();
    let write = |until| gate.enter(&key(), Access::Write, writes(until, SECOND), None, None);
    let _first = admitted(write(now + SECOND));
    // Each leaves 40 ms later than the one before it: more than a 32nd of a hold.
    let at = |nth| now + SECOND + SECOND / 25 * nth;
    let _line: Vec<_> = (0..10).map(|nth| queued(write(at(nth)))).collect();
    let _later = queued(write(at(10)));
    // All of them wait for as long, or leave at the same moment.
    assert!(matches!(write(at(0)), EnterResult::InVain));
    assert!(matches!(write(at(0) + SECOND / 50), EnterResult::InVain));
}
