//! The rows of faults: what each is, and what injects it.

/// A fault that the campaign knows of.
pub(crate) struct Row {
    pub(crate) number: u8,
    pub(crate) what: &'static str,
    /// Where it is not injected: why, and the test that holds it.
    pub(crate) elsewhere: Option<&'static str>,
}

const fn injected(number: u8, what: &'static str) -> Row {
    Row { number, what, elsewhere: None }
}

const fn elsewhere(number: u8, what: &'static str, why: &'static str) -> Row {
    Row { number, what, elsewhere: Some(why) }
}

/// Every row, by its number.
pub(crate) const ROWS: [Row; 60] = [
    injected(1, "SIGSTOP of a worker, for less or more than its leases"),
    elsewhere(
        2,
        "host suspended",
        "no process can suspend its host: tests with a clock of their own hold it",
    ),
    injected(3, "SIGKILL of a worker that holds"),
    injected(4, "SIGKILL of a worker that waits in a fair line"),
    injected(5, "black hole between a worker and the store, in either or both directions"),
    injected(6, "half-open and half-closed connections"),
    injected(7, "reset within a reply, reset of all connections"),
    injected(8, "latency, and bytes in small pieces"),
    injected(9, "SIGSTOP of Redis: late execution"),
    injected(10, "SIGKILL of Redis, restart without its data"),
    injected(11, "SIGKILL of Redis, restart with its append-only file (and LOADING)"),
    injected(12, "failover to a replica, cut off before or not"),
    injected(13, "SCRIPT FLUSH"),
    injected(14, "memory limit without eviction"),
    injected(15, "eviction"),
    injected(16, "a primary that becomes a replica (READONLY)"),
    injected(17, "NOREPLICAS (LOADING comes with 11, CLUSTERDOWN with 12)"),
    injected(18, "busy script, then SCRIPT KILL"),
    injected(19, "CLIENT PAUSE"),
    injected(20, "slots that move under load"),
    injected(21, "a command that the user may not run"),
    injected(22, "channels that the user may not use"),
    injected(23, "password rotated, user switched off or deleted"),
    injected(24, "Redis' clock jumps an hour ahead, and back"),
    injected(25, "Redis' clock jumps an hour back, and ahead"),
    injected(26, "CLIENT KILL TYPE pubsub"),
    injected(27, "CLIENT KILL TYPE pubsub in a loop"),
    injected(28, "futures dropped after a random number of polls"),
    injected(29, "panic while holding"),
    injected(30, "runtime shut down while holding"),
    injected(31, "2,000 keys held by one worker"),
    injected(32, "odd bytes in keys"),
    injected(33, "keys that are too long are refused"),
    injected(34, "leases out of bounds are refused"),
    elsewhere(
        35,
        "two releases of one guard",
        "`release` takes the guard by value: it does not compile; a release requested again is row 7",
    ),
    injected(36, "release by a guard whose lease is over"),
    injected(37, "something else under a lock's key"),
    injected(38, "burst of messages, small output buffers"),
    injected(39, "ZooKeeper: SIGKILL of the leader or a follower, then a restart"),
    injected(40, "ZooKeeper: SIGSTOP of the leader or a follower"),
    injected(41, "ZooKeeper: the leader or a follower cut off from the other members"),
    injected(42, "ZooKeeper: a follower, or all members, cut off from clients"),
    injected(43, "ZooKeeper: all connections of clients reset"),
    injected(44, "ZooKeeper: an operator deletes znodes of holders and waiters"),
    injected(45, "ZooKeeper: SIGKILL of two members of three, then a restart"),
    injected(46, "ZooKeeper: a slow disk"),
    injected(47, "all connections of clients ended, once a second"),
    injected(48, "the counters of fencing tokens deleted"),
    injected(49, "the counters of fencing tokens set back, and all connections ended"),
    injected(50, "SIGKILL of a worker that is next, before the lock is released"),
    injected(51, "SIGSTOP of a worker that is next, before the lock is released"),
    injected(52, "black hole around a worker that is next, before the lock is released"),
    injected(53, "a batch of releases of which one fails"),
    injected(54, "both wires on one key"),
    injected(55, "callers dropped while their try is queued or on its way"),
    injected(56, "a leader killed, stopped or cut off in its term"),
    injected(57, "a single flight's filler killed or dropped, while others wait"),
    injected(58, "a holder that ignores its replacement; a newer caller killed with its place"),
    injected(59, "the parker of a hold killed; a ticket resumed by all workers at the same time"),
    injected(60, "SIGKILL of a worker that holds locks with limits, and waits for some"),
];

/// The effect of a row on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfWorker {
    Kill,
    Stop,
    /// Both directions, or one.
    BlackHole,
    OtherLink,
    /// Work of the worker itself: nothing happens to its process or its links.
    OwnWork,
}

pub(crate) fn of_worker(row: u8, variant: u8) -> OfWorker {
    match (row, variant) {
        (3 | 4 | 50 | 60, _) | (56 | 57 | 59, 0) | (58, 1) => OfWorker::Kill,
        (1 | 51, _) | (56, 1) => OfWorker::Stop,
        (5 | 52, _) | (56, 2) => OfWorker::BlackHole,
        (6..=8, _) => OfWorker::OtherLink,
        _ => OfWorker::OwnWork,
    }
}

/// Whether workers carry it out themselves, and write down that they did.
pub(crate) fn is_by_workers(row: u8) -> bool {
    matches!(row, 28..=36 | 54 | 55)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_order() {
        assert!((1..).zip(&ROWS).all(|(number, row)| row.number == number));
    }
}
