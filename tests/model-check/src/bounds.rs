//! The models that are checked, and how far.

use lock_core::{
    Kind,
    Mode::{self, Read, Write},
};

use crate::{
    model::Setup,
    several::{self, Trouble},
    texts::Texts,
    verdict::{self, Verdict},
};

const ONE: &[i64] = &[1_500];
const TWO: &[i64] = &[1_500, 2_500];

/// Whether every model is searched to its end, and every broken script: `MODEL_CHECK=whole`.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var("MODEL_CHECK").is_ok_and(|extent| extent == "whole")
}

/// The most transitions of a model that a search of the real scripts takes, about. The search is
/// breadth first, so within the short bound every sequence up to some length is checked, and a part of
/// those that are longer by one.
#[must_use]
pub fn transitions() -> usize {
    if is_whole() { usize::MAX } else { SHORT }
}

/// Some 700,000 states of all models together.
const SHORT: usize = 27_000;

/// Each with its bounds; mutants are sought in those of their kind, smallest first.
#[must_use]
pub fn all() -> Vec<Setup> {
    [read_write(), sole(), fair(), semaphore(), native(), long_lines(), full(), evicting()].concat()
}

/// The one of this name.
///
/// # Panics
///
/// When there is none.
#[must_use]
pub fn named(name: &str) -> Setup {
    let found = all().into_iter().find(|setup| setup.name == name);
    found.unwrap_or_else(|| panic!("no model is called {name}"))
}

/// Checks no more than about so many transitions of the model of this name, of several locks too.
///
/// # Panics
///
/// When there is none.
#[must_use]
pub fn check(name: &str, texts: Texts, transitions: usize) -> Verdict {
    match several().into_iter().find(|setup| setup.name == name) {
        Some(setup) => verdict::check_several(setup, texts, transitions),
        None => verdict::check(named(name), texts, transitions),
    }
}

fn of(name: &'static str, kind: Kind, clients: u8, operations: u8) -> Setup {
    Setup { clients, operations, late: 0, leases: ONE, ..Setup::of(name, kind) }
}

fn read_write() -> Vec<Setup> {
    let kind = Kind::ReadWrite;
    vec![
        of("read/write: two", kind, 2, 7),
        of("read/write: three", kind, 3, 5),
        Setup { leases: TWO, ..of("read/write: two leases", kind, 2, 5) },
        Setup { late: 1, ..of("read/write: late", kind, 2, 4) },
        Setup { converts: true, ..of("read/write: changes of mode", kind, 2, 5) },
        Setup { converts: true, late: 1, ..of("read/write: late changes of mode", kind, 2, 4) },
        Setup { force: true, ..of("read/write: taken away", kind, 2, 5) },
    ]
}

fn sole() -> Vec<Setup> {
    let kind = Kind::Reentrant;
    vec![
        of("reentrant: two", kind, 2, 7),
        of("reentrant: three", kind, 3, 5),
        Setup { leases: TWO, ..of("reentrant: two leases", kind, 2, 5) },
        Setup { late: 1, ..of("reentrant: late", kind, 2, 4) },
        Setup { force: true, ..of("reentrant: taken away", kind, 2, 5) },
        Setup { ticks: &[1_000, 7_200_000], ..of("reentrant: tokens end", kind, 2, 5) },
        Setup {
            ticks: &[1_000, 7_200_000],
            forgets_tokens: true,
            ..of("fenced: tokens stay", Kind::Fenced, 2, 5)
        },
    ]
}

fn fair() -> Vec<Setup> {
    let (sole, shared) = (Kind::Fair, Kind::FairReadWrite);
    vec![
        of("fair: two", sole, 2, 6),
        of("fair: three", sole, 3, 5),
        Setup { late: 1, ..of("fair: late", sole, 2, 4) },
        Setup { force: true, ..of("fair: taken away", sole, 2, 4) },
        of("fair read/write: two", shared, 2, 6),
        of("fair read/write: three", shared, 3, 4),
        Setup { late: 1, ..of("fair read/write: late", shared, 2, 3) },
        Setup { converts: true, ..of("fair read/write: changes of mode", shared, 2, 5) },
        Setup { force: true, ..of("fair read/write: taken away", shared, 2, 4) },
    ]
}

fn semaphore() -> Vec<Setup> {
    let kind = Kind::Semaphore;
    vec![
        of("semaphore: three", kind, 3, 6),
        Setup { permits: 5, wanted: 2, ..of("semaphore: two at once", kind, 3, 5) },
        Setup { late: 1, ..of("semaphore: late", kind, 3, 4) },
        Setup { force: true, ..of("semaphore: taken away", kind, 3, 5) },
    ]
}

fn native_of(name: &'static str, kind: Kind, clients: u8, operations: u8) -> Setup {
    Setup { clients, operations, late: 0, leases: ONE, ..Setup::native(name, kind) }
}

/// Redis reaches its memory limit at any moment, and leaves it.
fn full() -> Vec<Setup> {
    let shared = |setup| Setup { converts: true, ..setup };
    let setups = vec![
        of("reentrant: memory limit", Kind::Reentrant, 2, 5),
        shared(of("read/write: memory limit", Kind::ReadWrite, 2, 5)),
        of("fair: memory limit", Kind::Fair, 2, 5),
        shared(of("fair read/write: memory limit", Kind::FairReadWrite, 2, 5)),
        of("semaphore: memory limit", Kind::Semaphore, 3, 5),
        native_of("native reentrant: memory limit", Kind::Reentrant, 2, 5),
        shared(native_of("native read/write: memory limit", Kind::ReadWrite, 2, 4)),
        native_of("native fair: memory limit", Kind::Fair, 2, 5),
        shared(native_of("native fair read/write: memory limit", Kind::FairReadWrite, 2, 4)),
        native_of("native semaphore: memory limit", Kind::Semaphore, 3, 5),
    ];
    setups.into_iter().map(|setup| Setup { fills: true, ..setup }).collect()
}

/// Redis evicts one key at any moment.
fn evicting() -> Vec<Setup> {
    let setups = vec![
        of("reentrant: eviction", Kind::Reentrant, 2, 5),
        of("read/write: eviction", Kind::ReadWrite, 2, 4),
        of("fair: eviction", Kind::Fair, 2, 5),
        of("fair read/write: eviction", Kind::FairReadWrite, 2, 4),
        native_of("native reentrant: eviction", Kind::Reentrant, 2, 4),
        native_of("native read/write: eviction", Kind::ReadWrite, 2, 4),
        native_of("native fair: eviction", Kind::Fair, 2, 4),
        native_of("native fair read/write: eviction", Kind::FairReadWrite, 2, 4),
        native_of("native semaphore: eviction", Kind::Semaphore, 3, 4),
    ];
    setups.into_iter().map(|setup| Setup { evicts: true, ..setup }).collect()
}

/// The same on the native wire, whose plain commands are operations as well.
fn native() -> Vec<Setup> {
    let of = native_of;
    let (sole, fair) = (Kind::Reentrant, Kind::Fair);
    let (shared, fair_shared, semaphore) = (Kind::ReadWrite, Kind::FairReadWrite, Kind::Semaphore);
    vec![
        of("native reentrant: two", sole, 2, 7),
        of("native reentrant: three", sole, 3, 6),
        Setup { leases: TWO, late: 1, ..of("native reentrant: late", sole, 2, 3) },
        Setup { force: true, ..of("native reentrant: taken away", sole, 2, 5) },
        Setup { leases: &[2_500], ..of("native reentrant: a waiter that is dead", sole, 3, 5) },
        Setup { forgets_tokens: true, ..of("native fenced: tokens lost", Kind::Fenced, 2, 5) },
        Setup {
            forgets_tokens: true,
            tokens_ahead_us: 3_600_000_000,
            ..of("native fenced: tokens lost, the clock behind", Kind::Fenced, 2, 5)
        },
        of("native read/write: two", shared, 2, 6),
        of("native read/write: three", shared, 3, 5),
        Setup { leases: TWO, ..of("native read/write: two leases", shared, 2, 3) },
        Setup { late: 1, ..of("native read/write: late", shared, 2, 3) },
        Setup { converts: true, ..of("native read/write: changes of mode", shared, 2, 5) },
        Setup {
            converts: true,
            late: 1,
            ..of("native read/write: late changes of mode", shared, 2, 3)
        },
        Setup { force: true, ..of("native read/write: taken away", shared, 2, 4) },
        of("native fair: two", fair, 2, 5),
        of("native fair: three", fair, 3, 5),
        Setup { late: 1, ..of("native fair: late", fair, 2, 3) },
        Setup { force: true, ..of("native fair: taken away", fair, 2, 4) },
        of("native fair read/write: two", fair_shared, 2, 5),
        of("native fair read/write: three", fair_shared, 3, 4),
        Setup { late: 1, ..of("native fair read/write: late", fair_shared, 2, 3) },
        Setup {
            converts: true,
            ..of("native fair read/write: changes of mode", fair_shared, 2, 4)
        },
        Setup { force: true, ..of("native fair read/write: taken away", fair_shared, 2, 4) },
        of("native semaphore: three", semaphore, 3, 6),
        Setup { permits: 1, ..of("native semaphore: one permit", semaphore, 3, 5) },
        Setup { permits: 5, wanted: 2, ..of("native semaphore: two at once", semaphore, 3, 5) },
        Setup { late: 1, ..of("native semaphore: late", semaphore, 3, 4) },
        Setup { force: true, ..of("native semaphore: taken away", semaphore, 3, 5) },
    ]
}

/// On the native wire, a line that is never in the lock's value; and one that moves between the two places,
/// because a second waiter is one too many for the value.
fn long_lines() -> Vec<Setup> {
    let of = native_of;
    let (sole, shared) = (Kind::Reentrant, Kind::ReadWrite);
    let long = |setup| Setup { most_in_value: Some(0), ..setup };
    let growing = |setup| Setup { most_in_value: Some(32), ..setup };
    vec![
        long(of("native long line: two", sole, 2, 5)),
        long(of("native long line: three", sole, 3, 5)),
        long(Setup {
            leases: &[2_500],
            ..of("native long line: a waiter that is dead", sole, 3, 5)
        }),
        long(Setup { fills: true, ..of("native long line: memory limit", sole, 2, 4) }),
        long(of("native long line: readers and writers", shared, 3, 4)),
        growing(of("native growing line: three", sole, 3, 6)),
        growing(Setup { late: 1, ..of("native growing line: late", sole, 3, 3) }),
        growing(Setup { force: true, ..of("native growing line: taken away", sole, 3, 4) }),
        growing(Setup { fills: true, ..of("native growing line: memory limit", sole, 3, 4) }),
        growing(Setup {
            converts: true,
            ..of("native growing line: readers and writers", shared, 3, 4)
        }),
    ]
}

const WRITES: &[[Mode; 2]] = &[[Write, Write]];
const MIXED: &[[Mode; 2]] = &[[Read, Write]];
const FIRST_BOTH: &[[Mode; 2]] = &[[Write, Write], [Read, Write]];
const BOTH: &[[Mode; 2]] = &[[Write, Write], [Read, Read], [Read, Write]];

/// Those of several locks that are requested at once.
#[must_use]
pub fn several() -> Vec<several::Setup> {
    let (of, native) = (several::Setup::of, several::Setup::native);
    let (sole, shared) = (Kind::Reentrant, Kind::ReadWrite);
    vec![
        of("several locks: two", sole, WRITES, 6),
        several::Setup { late: 1, ..of("several locks: late", sole, WRITES, 5) },
        several::Setup { holds: 2, ..of("several locks: nested", sole, WRITES, 5) },
        several::Setup {
            trouble: Trouble::Denied,
            ..of("several locks: an error", sole, WRITES, 5)
        },
        several::Setup {
            trouble: Trouble::Foreign,
            ..of("several locks: another kind", sole, WRITES, 5)
        },
        several::Setup {
            trouble: Trouble::ForeignToken,
            late: 1,
            ..of("several locks: tokens of another kind", sole, WRITES, 3)
        },
        of("several read/write locks: two", shared, BOTH, 5),
        several::Setup { late: 1, ..of("several read/write locks: late", shared, MIXED, 4) },
        several::Setup { holds: 2, ..of("several read/write locks: nested", shared, BOTH, 4) },
        of("several fair locks: two", Kind::Fair, WRITES, 5),
        several::Setup { late: 1, ..of("several fair locks: late", Kind::Fair, WRITES, 4) },
        of("several fair read/write locks: two", Kind::FairReadWrite, BOTH, 4),
        several::Setup {
            late: 1,
            ..of("several fair read/write locks: late", Kind::FairReadWrite, MIXED, 4)
        },
        of("several semaphores: two", Kind::Semaphore, WRITES, 5),
        several::Setup { late: 1, ..of("several semaphores: late", Kind::Semaphore, WRITES, 4) },
        several::Setup {
            kinds: [shared, Kind::Semaphore],
            ..of("several of two kinds: two", shared, FIRST_BOTH, 4)
        },
        native("native several locks: two", sole, WRITES, 5),
        several::Setup { late: 1, ..native("native several locks: late", sole, WRITES, 4) },
        several::Setup { holds: 2, ..native("native several locks: nested", sole, WRITES, 5) },
        several::Setup {
            trouble: Trouble::Foreign,
            ..native("native several locks: another kind", sole, WRITES, 5)
        },
        native("native several read/write locks: two", shared, BOTH, 4),
        native("native several fair locks: two", Kind::Fair, WRITES, 4),
        native("native several semaphores: two", Kind::Semaphore, WRITES, 4),
    ]
}
