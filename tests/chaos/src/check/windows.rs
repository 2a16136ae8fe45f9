//! The times of the faults, for the checkers.

use crate::{
    clock::{MS, Nanos, SECOND},
    deployment::Sort,
    nemesis::{SEEN, Window},
    rows::{OfWorker, of_worker},
    schedule::Lane,
};

/// No lease is longer, with what it may have been prolonged by while it was on its way.
const LONGEST_LEASE: Nanos = 2_200 * MS;
/// After a fault has healed, links may wait so long before they try again.
const BACKOFF: Nanos = 1_500 * MS;

/// A span of time.
pub(crate) type Span = (Nanos, Nanos);

/// Workers are counted in one digit.
const WORKERS: usize = 9;

pub(crate) struct Windows {
    sort: Sort,
    windows: Vec<Window>,
    /// For each worker, because queries are frequent.
    troubles: Vec<Vec<Span>>,
    stops: Vec<Vec<Span>>,
    signalled: Vec<Vec<Span>>,
    silences: Vec<Vec<Span>>,
    stalled: Vec<Span>,
}

impl Windows {
    pub(crate) fn new(sort: Sort, windows: &[Window], stood: &[(usize, Span)]) -> Self {
        let windows = without_planned_ones_twice(windows);
        let of_each = |concerns: &dyn Fn(&Window, usize) -> bool, after: Nanos| {
            let spans = |worker| {
                let concerned = windows.iter().filter(|window| concerns(window, worker));
                let concerned = concerned.map(|window| (window.begin, window.end + after));
                // Nothing is expected of a process that does not run, whatever the reason.
                let stood = stood.iter().filter(|it| it.0 == worker).map(|it| it.1);
                union(concerned.chain(stood).collect())
            };
            (0..WORKERS).map(spans).collect()
        };
        let troubles = |window: &Window, worker| match window.lane {
            // Messages that are lost, scripts that are forgotten, tokens that are drawn anew: waiters get
            // there all the same. So they do when connections end, over the next one.
            Lane::Servers => !matches!(window.row, 13 | 22 | 26 | 27 | 38 | 47..=49 | 53),
            Lane::Worker(at) => {
                let kind = of_worker(window.row, window.variant);
                at == worker && !matches!(kind, OfWorker::OwnWork)
            }
        };
        let stops = |window: &Window, worker| {
            of_worker(window.row, window.variant) == OfWorker::Stop
                && window.lane == Lane::Worker(worker)
        };
        let silences = |window: &Window, worker| {
            (of_worker(window.row, window.variant) == OfWorker::BlackHole
                && window.lane == Lane::Worker(worker))
                || (window.row == 9 && sort == Sort::Standalone)
                || (window.row == 42 && window.variant == 1)
        };
        // Between one that ends and one that begins a word may get through.
        let each_alone = |of: &dyn Fn(&Window, usize) -> bool| {
            let spans = |worker| {
                let concerned = windows.iter().filter(|window| of(window, worker));
                concerned.map(|window| (window.begin, window.end)).collect()
            };
            (0..WORKERS).map(spans).collect()
        };
        let signalled: Vec<Vec<Span>> = each_alone(&stops);
        // A stall of one process is one of the machine, and servers have no thread that measures theirs.
        let machine = stood.iter().filter(|(worker, span)| !touches(*span, &signalled[*worker]));
        let stalled = union(machine.map(|(_, (from, at))| (*from, at + BACKOFF)).collect());
        Self {
            sort,
            stalled,
            troubles: of_each(&troubles, BACKOFF),
            stops: of_each(&stops, 0),
            signalled,
            silences: each_alone(&silences),
            windows,
        }
    }

    /// Whether a fault may lose what the store has granted.
    fn loses(&self, window: &Window) -> bool {
        match (self.sort, window.row) {
            (_, 10 | 12 | 15 | 24 | 25 | 44) => true,
            // Sentinels tell the primary to go without waiting for its replicas.
            (Sort::Sentinel, 16) => true,
            _ => false,
        }
    }

    fn losses(&self) -> impl Iterator<Item = Span> {
        let losses = self.windows.iter().filter(|window| self.loses(window));
        losses.map(|window| (window.begin, window.end + LONGEST_LEASE))
    }

    /// Whether two holders at this moment are in the nature of what was done.
    pub(crate) fn may_overlap(&self, at: Nanos) -> bool {
        self.losses().any(|(begin, end)| begin <= at && at <= end)
    }

    /// Whether data may have been lost between these moments, tokens among them. ZooKeeper loses none:
    /// when an operator deletes a holder's znode, the next one has a greater number.
    pub(crate) fn lost_between(&self, begin: Nanos, end: Nanos) -> bool {
        self.sort != Sort::ZooKeeper && self.losses().any(|loss| loss.0 <= end && begin <= loss.1)
    }

    /// Whether tokens between these moments may be behind earlier ones: data may have been lost, or the
    /// counters were after tokens were drawn from a clock that was ahead. Then a token exceeds those
    /// alone that its own client knows.
    pub(crate) fn tokens_lost_between(&self, begin: Nanos, end: Nanos) -> bool {
        let of = |rows: [u8; 2]| self.windows.iter().filter(move |it| rows.contains(&it.row));
        let ahead = of([24, 25]).map(|jump| jump.begin).min();
        let lost = |jump: Nanos| {
            of([48, 49]).any(|it| jump <= it.begin && begin <= it.end && it.begin <= end)
        };
        self.lost_between(begin, end) || ahead.is_some_and(lost)
    }

    /// Whether waiters of every kind queue in the store, each as long as its process is alive there.
    pub(crate) fn every_waiter_queues(&self) -> bool {
        self.sort.has_sessions()
    }

    /// Whether locks of several keys are acquired one after the other.
    pub(crate) fn takes_several_in_turn(&self) -> bool {
        matches!(self.sort, Sort::Cluster | Sort::ZooKeeper)
    }

    /// Returns whether an unplanned failover lost data.
    pub(crate) fn unplanned_before(&self, at: Nanos) -> bool {
        self.windows.iter().any(|it| is_seen(it) && it.begin <= at)
    }

    /// Whether Redis' clock jumped between these moments. What is held when it jumps back lives for
    /// as much longer until it is renewed: if its process is killed before, it stays.
    pub(crate) fn clock_jumped(&self, begin: Nanos, end: Nanos) -> bool {
        let jumps = self.windows.iter().filter(|window| matches!(window.row, 24 | 25));
        jumps.into_iter().any(|jump| jump.begin <= end && begin <= jump.end)
    }

    /// When this worker could not be expected to get anywhere, in order.
    pub(crate) fn troubles(&self, worker: usize) -> &[Span] {
        &self.troubles[worker]
    }

    /// When something else than locks stood under keys, in order: what the campaign put there.
    pub(crate) fn foreign(&self) -> Vec<Span> {
        let windows = self.windows.iter().filter(|window| window.row == 37);
        union(windows.map(|window| (window.begin, window.end + SECOND)).collect())
    }

    /// When a worker that waits in front was killed, stopped or cut off (rows 50 to 52).
    pub(crate) fn gone_from_the_front(&self) -> impl Iterator<Item = (usize, Span)> {
        self.windows.iter().filter_map(|window| match window.lane {
            Lane::Worker(at) if matches!(window.row, 50..=52) => {
                Some((at, (window.begin, window.end)))
            }
            _ => None,
        })
    }

    /// When a server fault lasted, in order.
    pub(crate) fn of_servers(&self) -> Vec<Span> {
        let windows = self.windows.iter().filter(|window| window.lane == Lane::Servers);
        union(windows.map(|window| (window.begin, window.end)).collect())
    }

    /// When a worker was stopped by a signal, all of it.
    pub(crate) fn signalled(&self, worker: usize) -> &[Span] {
        &self.signalled[worker]
    }

    /// When a worker stood still, or what of it was on one of the processors.
    pub(crate) fn stops(&self, worker: usize) -> &[Span] {
        &self.stops[worker]
    }

    /// When the machine kept any worker off a processor, and a while after it, in order.
    pub(crate) fn stalled(&self) -> &[Span] {
        &self.stalled
    }

    /// Whether a connection of this worker may have ended, so that commands were sent again. A worker that
    /// was stopped replaces one that seems to be silent.
    pub(crate) fn connections_may_end(&self, worker: usize, span: Span) -> bool {
        let of_its_links = |row, variant| {
            matches!(of_worker(row, variant), OfWorker::BlackHole | OfWorker::OtherLink)
        };
        let ends_them = |window: &Window| match window.lane {
            Lane::Servers => true,
            Lane::Worker(at) => at == worker && of_its_links(window.row, window.variant),
        };
        let mut ends = self.windows.iter().filter(|window| ends_them(window));
        touches(span, self.stops(worker))
            || ends.any(|window| touches(span, &[(window.begin, window.end + BACKOFF)]))
    }

    /// When a worker could hear nothing from Redis, or nothing that it said was received: each fault for
    /// itself, in order.
    pub(crate) fn silences(&self, worker: usize) -> &[Span] {
        &self.silences[worker]
    }
}

/// Returns whether this is a failover that was noticed, whatever its cause.
fn is_seen(window: &Window) -> bool {
    window.row == 12 && window.variant == SEEN
}

/// A failover that was planned is noticed too; what it may lose, and from when on, its own window
/// says: that of one which loses nothing must not become one that does.
fn without_planned_ones_twice(windows: &[Window]) -> Vec<Window> {
    let planned = |seen: &Window| {
        let mut failovers =
            windows.iter().filter(|it| matches!(it.row, 12 | 16) && !is_seen(it) && it.injected);
        failovers.any(|it| it.begin <= seen.end && seen.end <= it.end + SECOND)
    };
    windows.iter().filter(|it| !(is_seen(it) && planned(it))).copied().collect()
}

/// The same spans in order and without overlaps.
pub(crate) fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut united: Vec<Span> = Vec::with_capacity(spans.len());
    for (begin, end) in spans {
        match united.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => united.push((begin, end)),
        }
    }
    united
}

/// How much of `span` these spans, which are in order, leave free.
pub(crate) fn outside(span: Span, spans: &[Span]) -> Nanos {
    let from = spans.partition_point(|it| it.1 <= span.0);
    let inside = spans[from..].iter().take_while(|it| it.0 < span.1);
    let inside: Nanos = inside.map(|it| it.1.min(span.1) - it.0.max(span.0)).sum();
    (span.1.saturating_sub(span.0)).saturating_sub(inside)
}

/// Whether any of these spans, which are in order, touches `span`.
pub(crate) fn touches(span: Span, spans: &[Span]) -> bool {
    let from = spans.partition_point(|it| it.1 < span.0);
    spans.get(from).is_some_and(|it| it.0 <= span.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_failover_that_loses_nothing_allows_nothing() {
        let window = |row, variant, begin, end| {
            let (begin, end) = (begin * SECOND, end * SECOND);
            Window { row, variant, lane: Lane::Servers, begin, end, injected: variant != SEEN }
        };
        let allowed = |sort, windows: &[Window]| {
            let windows = Windows::new(sort, windows, &[]);
            (windows.may_overlap(11 * SECOND), windows.unplanned_before(60 * SECOND))
        };
        let (told_to, seen) = (window(16, 0, 10, 14), window(12, SEEN, 6, 12));
        assert_eq!(allowed(Sort::Cluster, &[told_to, seen]), (false, false));
        assert_eq!(allowed(Sort::Sentinel, &[told_to, seen]), (true, false));
        assert_eq!(allowed(Sort::Cluster, &[seen]), (true, true));
        let before =
            |windows: &[Window]| Windows::new(Sort::Sentinel, windows, &[]).may_overlap(9 * SECOND);
        assert!(before(&[seen]) && !before(&[told_to, seen]), "from its own beginning on");
    }

    #[test]
    fn zookeeper_loses_no_token_and_no_lock_but_what_an_operator_deletes() {
        let on_zookeeper = |row, variant| {
            let lane = Lane::Servers;
            let window = Window { row, variant, lane, begin: 10, end: 20, injected: true };
            let windows = Windows::new(Sort::ZooKeeper, &[window], &[]);
            let silent = windows.silences(0).len();
            (windows.may_overlap(15), windows.lost_between(0, 30), silent)
        };
        for row in [39, 40, 41, 43, 45, 46] {
            assert_eq!(on_zookeeper(row, 0), (false, false, 0), "row {row}");
        }
        assert_eq!(on_zookeeper(44, 0), (true, false, 0), "deleted by an operator");
        assert_eq!(on_zookeeper(42, 0), (false, false, 0), "another member is there");
        assert_eq!(on_zookeeper(42, 1), (false, false, 1), "none is there");
    }

    #[test]
    fn a_counter_that_is_lost_after_a_jump_of_the_clock_may_set_tokens_back() {
        let window = |row, begin, end| Window {
            row,
            variant: 0,
            lane: Lane::Servers,
            begin,
            end,
            injected: true,
        };
        let lost = |windows: &[Window]| {
            Windows::new(Sort::Standalone, windows, &[])
                .tokens_lost_between(10 * SECOND, 20 * SECOND)
        };
        let (jump, counter) =
            (window(24, SECOND, 2 * SECOND), window(48, 12 * SECOND, 13 * SECOND));
        assert!(lost(&[jump, counter]));
        assert!(!lost(&[jump]) && !lost(&[counter]));
        assert!(!lost(&[jump, window(48, 3 * SECOND, 4 * SECOND)]), "before both");
        assert!(!lost(&[window(24, 25 * SECOND, 26 * SECOND), counter]), "not ahead yet");
    }

    #[test]
    fn silences_that_meet_are_not_one() {
        let silent =
            |row, lane, begin, end| Window { row, variant: 0, lane, begin, end, injected: true };
        let windows = [silent(9, Lane::Servers, 1, 6), silent(5, Lane::Worker(0), 5, 9)];
        let windows = Windows::new(Sort::Standalone, &windows, &[]);
        assert_eq!(windows.silences(0), [(1, 6), (5, 9)]);
        assert_eq!(windows.silences(1), [(1, 6)]);
        assert_eq!(windows.troubles(0), [(1, 9 + BACKOFF)]);
    }

    #[test]
    fn nothing_is_expected_of_a_process_that_does_not_run() {
        let windows = Windows::new(Sort::Cluster, &[], &[(1, (5, 9)), (1, (7, 12))]);
        assert_eq!((windows.stops(1), windows.troubles(1)), (&[(5, 12)][..], &[(5, 12)][..]));
        assert!(windows.signalled(1).is_empty(), "what is on another processor may go on");
        assert!(windows.stops(0).is_empty() && windows.troubles(0).is_empty());
        assert!(windows.silences(1).is_empty(), "it may have received of everything before");
    }

    #[test]
    fn spans_add_up() {
        let spans = union(vec![(5, 9), (1, 3), (2, 4), (9, 10)]);
        assert_eq!(spans, [(1, 4), (5, 10)]);
        assert_eq!(outside((0, 12), &spans), 4);
        assert_eq!(outside((2, 6), &spans), 1);
        assert_eq!(outside((20, 22), &spans), 2);
        assert!(touches((4, 4), &spans) && !touches((11, 15), &spans));
    }
}
