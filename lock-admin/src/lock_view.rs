//! One lock, with all holders and its line in order.

use lock_core::{HolderInfo, Inspection, Kind, WorkInfo};
use maud::{Markup, html};

use super::{
    list_view::{age, client, counted, deadlocks, held_locks, other_locks, purpose},
    reader::LockPage,
    table::{self, Cell},
    times,
};

pub(crate) fn content(page: &LockPage) -> Markup {
    let lock = &page.lock;
    html! {
        p #summary { (summary(lock)) }
        (deadlocks(&page.deadlocks))
        (holders(lock))
        (waiters(lock))
        @if !lock.complete { p #incomplete { "There are more than are shown here." } }
    }
}

fn summary(lock: &Inspection) -> Markup {
    html! {
        @match (lock.kind, lock.mode) {
            (None, _) => "Not held, and no request waits for it.",
            (Some(kind), Some(mode)) if kind != Kind::Semaphore => { (kind) ", held to " (mode) }
            (Some(kind), _) => { (kind) @if lock.holders.is_empty() { ", not held" } }
        }
        @if let Some(left) = lock.remaining { ", " (times::text(Some(left))) " left" }
        @if let Some(free) = lock.free_permits { ", " (free) " permits free" }
        @if lock.waiting > 0 { ", " (lock.waiting) " waiting" }
        @if let Some(token) = lock.fencing_token { ", last fencing token " (token) }
    }
}

fn holders(lock: &Inspection) -> Markup {
    let rows = lock.holders.iter().map(|holder| {
        let cells = [
            Cell::long(client(holder.client.as_ref())),
            html! { (holds(holder)) }.into(),
            age(holder.age),
            age(holder.remaining),
            Cell::long(html! {
                @if let Some(work) = &holder.work { (purpose(work)) (origin(work)) (other_locks(work)) }
            }),
            owner(&holder.owner),
        ];
        (holder.owner.clone(), cells)
    });
    let columns = ["Client", "Holds", "Held for", "Left", "Works on", "Owner"];
    let empty = html! { "Not held. Each holder appears here with its process and its work." };
    table::section("holders", "Holders", columns, rows, &empty)
}

fn waiters(lock: &Inspection) -> Markup {
    // For other kinds the store does not have all waiters.
    let in_order = lock.kind.is_some_and(Kind::is_fair);
    let heading = if in_order { "Waiters, in order" } else { "Known waiters, next first" };
    let rows = lock.waiters.iter().enumerate().map(|(place, waiter)| {
        let cells = [
            html! { (place + 1) }.into(),
            Cell::long(client(waiter.client.as_ref())),
            html! { (waiter.mode) }.into(),
            age(waiter.age),
            Cell::long(html! {
                @if let Some(work) = &waiter.work { (purpose(work)) (origin(work)) (held_locks(work)) }
            }),
            owner(&waiter.owner),
        ];
        (waiter.owner.clone(), cells)
    });
    let columns = ["Place", "Client", "Mode", "Waits", "Works on", "Owner"];
    let empty = if lock.waiting == 0 {
        html! { "No request waits. The requests that wait for this lock appear here." }
    } else {
        html! { "All " (lock.waiting) " wait in the queues of the holders' processes, which the store does not know." }
    };
    table::section("waiters", heading, columns, rows, &empty)
}

fn owner(owner: &str) -> Cell {
    Cell::long(html! { code { (owner) } })
}

fn holds(holder: &HolderInfo) -> String {
    match (holder.writes, holder.reads) {
        (0, 1) => "read".to_owned(),
        (1, 0) => "write".to_owned(),
        (writes, reads) => {
            format!("{}, {}", counted(writes.into(), "write"), counted(reads.into(), "read"))
        }
    }
}

/// Where the work came from: its trace, and its place in the program.
fn origin(work: &WorkInfo) -> Markup {
    html! {
        @if let Some(trace) = &work.trace_id { " " span .soft { "trace " (trace) } }
        @if let Some(site) = &work.site {
            " " span .soft { "at " @for part in site.split_inclusive('/') { (part) wbr; } }
        }
        @if work.local_waiters > 0 {
            " " span .soft { (work.local_waiters) " waiting behind it in its process" }
        }
    }
}
