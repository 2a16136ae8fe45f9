//! The list of locks.

use lock_core::{__private::visible, ClientInfo, HotKey, WorkInfo};
use maud::{Markup, html};

use super::{
    deadlock::Circle,
    plot,
    query::{Subject, link},
    reader::{ListPage, ProcessStatus, Row, Wait},
    table::{self, Cell},
    times,
};

pub(crate) fn content(subject: &Subject, list: &ListPage) -> Markup {
    html! {
        @if !list.complete {
            p #incomplete .bad { "A part of the lock store does not answer: there may be more locks than these." }
        }
        (deadlocks(&list.deadlocks))
        (locks(list))
        @if let (Some(next), Subject::List { limit, .. }) = (&list.next, subject) {
            p #more {
                a rel="next" href=(link(&[("prefix", &list.prefix), ("limit", &limit.to_string()), ("after", next)])) {
                    "More locks"
                }
            }
        }
        (waits(&list.longest_waits))
        (hot_keys(&list.hot_keys))
        (process(&list.process))
    }
}

/// A banner for each circle.
pub(crate) fn deadlocks(circles: &[Circle]) -> Markup {
    html! {
        @for circle in circles {
            section .deadlock role="alert" data-key={ "deadlock " (visible(&circle.join(" "))) } {
                h2 { "Deadlock" }
                p {
                    "Each of these locks is held by a caller that waits for the next one. None of them continues "
                    "before one of the waits ends or one of the locks is released."
                }
                ol { @for member in circle.iter().chain(circle.first()) { li { (key(member)) } } }
            }
        }
    }
}

fn locks(list: &ListPage) -> Markup {
    let columns = ["Key", "Kind", "Mode", "Holder", "Held for", "Left", "Waiters", "Works on"];
    let rows = list.locks.iter().map(|row| (row.key.clone(), cells(row)));
    let empty = html! {
        "No lock is held"
        @if !list.prefix.is_empty() { " under " code { (visible(&list.prefix)) } }
        ". Each lock appears here while it is held, with its holder and its waiters."
    };
    table::section("locks", "Live locks", columns, rows, &empty)
}

fn cells(row: &Row) -> [Cell; 8] {
    let Some(lock) = &row.lock else {
        let why = html! { span .bad { (visible(row.error.as_deref().unwrap_or_default())) } };
        let [kind, mode, held_for, left, waiters, work] = [(); 6].map(|()| html! {}.into());
        return [key_cell(&row.key), kind, mode, Cell::long(why), held_for, left, waiters, work];
    };
    let holders = lock.holders.as_slice();
    let holder = html! {
        @match holders {
            [] => "not held",
            [holder] => (client(holder.client.as_ref())),
            [holder, rest @ ..] => { (client(holder.client.as_ref())) " and " (rest.len()) " more" }
        }
    };
    // One that waits itself is shown first: it leads to the next lock.
    let mut works = holders.iter().filter_map(|holder| holder.work.as_ref());
    let work = works.clone().find(|work| work.waits_for.is_some()).or_else(|| works.next());
    [
        key_cell(&row.key),
        html! { @if let Some(kind) = lock.kind { (kind) } }.into(),
        html! { @if let Some(mode) = lock.mode { (mode) } }.into(),
        Cell::long(holder),
        age(holders.iter().filter_map(|holder| holder.age).max()),
        age(lock.remaining),
        waiters(row),
        Cell::long(html! { @if let Some(work) = work { (purpose(work)) (other_locks(work)) } }),
    ]
}

fn waiters(row: &Row) -> Cell {
    let longest = row.waiters().iter().filter_map(|waiter| waiter.age).max();
    let waiting = row.lock.as_ref().map_or(0, |lock| lock.waiting);
    let text = html! {
        @if waiting > 0 { (waiting) }
        @if let Some(longest) = longest { ", longest " (times::text(Some(longest))) }
    };
    Cell::sorted_by(text, waiting)
}

fn waits(waits: &[Wait]) -> Markup {
    let rows = waits.iter().map(|wait| {
        let cells = [
            age(wait.waiter.age),
            key_cell(&wait.key),
            html! { (wait.waiter.mode) }.into(),
            Cell::long(client(wait.waiter.client.as_ref())),
            Cell::long(html! {
                @if let Some(work) = &wait.waiter.work { (purpose(work)) (held_locks(work)) }
            }),
        ];
        (format!("{} {}", wait.waiter.owner, wait.key), cells)
    });
    let empty = html! {
        "No request waits. Those that have waited longest for one of these locks appear here, each after "
        "half a second."
    };
    let columns = ["Waits", "Key", "Mode", "Waiter", "Works on"];
    table::section("waits", "Longest waits", columns, rows, &empty)
}

fn hot_keys(keys: &[HotKey]) -> Markup {
    let rows = keys.iter().map(|hot| {
        let found = html! {
            (counted(hot.contended, "time"))
            @if hot.overcount > 0 { ", or up to " (hot.overcount) " fewer" }
        };
        let cells =
            [key_cell(&hot.key), Cell::sorted_by(found, hot.contended), age(Some(hot.waited))];
        (hot.key.clone(), cells)
    });
    let empty = html! { "No lock was found taken. The keys that are contended most appear here." };
    let columns = ["Key", "Found taken", "Waited in total"];
    table::section("hot", "Hot keys", columns, rows, &empty)
}

fn process(process: &ProcessStatus) -> Markup {
    let events = &process.events;
    let total = |counts: &[u32]| counts.iter().copied().map(u64::from).sum();
    html! {
        section #process {
            h2 { "This process" }
            p {
                (counted(process.waiting as u64, "acquisition")) " waiting for another one of this process. "
                "Store: " (process.store)
                @if let Some(time) = process.round_trip_ms { ", answers in " (format!("{time:.1} ms")) }
                "."
            }
            @if process.breaker_open { p #breaker .bad { "The store, or a part of it, does not answer." } }
            @if process.draining { p #draining .bad { "The client shuts down." } }
            div .tiles {
                (plot::tile(
                    "holds", process.holds as u64, "held now, or being acquired or released",
                    &process.holds_before, "No lock while this page was open, in the last 15 minutes.",
                ))
                (plot::tile(
                    "refused", total(&events.refused), "refused in the last 15 minutes",
                    &events.refused, "Acquisitions that end without their lock are counted here.",
                ))
                (plot::tile(
                    "lost", total(&events.lost), "lost in the last 15 minutes",
                    &events.lost, "Locks that are lost while they are held are counted here.",
                ))
            }
        }
    }
}

/// A key, with a link to its lock.
pub(crate) fn key(key: &str) -> Markup {
    html! { a href=(link(&[("key", key)])) { (visible(key)) } }
}

fn key_cell(text: &str) -> Cell {
    Cell::long(html! { code { (key(text)) } })
}

/// An age or a rest of time: sorted by its length.
pub(crate) fn age(time: Option<std::time::Duration>) -> Cell {
    let millis = time.map(|time| time.as_millis().to_string()).unwrap_or_default();
    Cell::sorted_by(html! { (times::text(time)) }, millis)
}

pub(crate) fn client(client: Option<&ClientInfo>) -> Markup {
    html! {
        @match client {
            Some(client) => { (client.service) " " (client.instance) }
            None => span .soft { "unnamed" }
        }
    }
}

/// In one line: the route, or the name of the acquisition, and the request's id.
pub(crate) fn purpose(work: &WorkInfo) -> Markup {
    html! {
        @if let Some(what) = work.route.as_ref().or(work.name.as_ref()) { (what) }
        @if let Some(id) = &work.request_id { " " span .soft { "request " (id) } }
    }
}

/// The other locks of a holder's request or job: it holds them, or waits for them.
pub(crate) fn other_locks(work: &WorkInfo) -> Markup {
    html! {
        (held_locks(work))
        @if let Some(wanted) = &work.waits_for { " " span .wanted { "waits for " code { (key(wanted)) } } }
    }
}

/// The locks that a waiter holds meanwhile.
pub(crate) fn held_locks(work: &WorkInfo) -> Markup {
    html! {
        @if !work.also_holds.is_empty() {
            " " span .held {
                "also holds "
                @for (at, held) in work.also_holds.iter().enumerate() {
                    @if at > 0 { ", " }
                    code { (key(held)) }
                }
            }
        }
    }
}

/// Such as "1 time" and "2 times".
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
