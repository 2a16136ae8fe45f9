//! One lock, with all holders and its line in order.

use lock_core::{__private::visible, HolderInfo, Inspection, Kind, WorkInfo};
use maud::{Markup, html};

use super::{
    list_view::{client, key, purpose},
    reader::LockView,
    times,
};

pub(crate) fn content(view: &LockView) -> Markup {
    let lock = &view.lock;
    html! {
        h2 { code { (visible(&view.key)) } }
        p #summary { (summary(lock)) }
        @if !lock.holders.is_empty() { (holders(lock)) }
        @if !lock.waiters.is_empty() { (waiters(lock)) }
        @if !lock.complete { p { "There are more than are shown here." } }
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
    html! {
        h3 { "Holders" }
        table #holders {
            thead {
                tr { th { "Client" } th { "Holds" } th { "For" } th { "Left" } th { "Works on" } th { "Owner" } }
            }
            tbody {
                @for holder in &lock.holders {
                    tr {
                        td { (client(holder.client.as_ref())) }
                        td { (holds(holder)) }
                        td { (times::text(holder.age)) }
                        td { (times::text(holder.remaining)) }
                        td { @if let Some(work) = &holder.work { (details(work)) } }
                        td { code { (holder.owner) } }
                    }
                }
            }
        }
    }
}

fn waiters(lock: &Inspection) -> Markup {
    // For other kinds the store does not have all waiters.
    let in_order = lock.kind.is_some_and(Kind::is_fair);
    html! {
        h3 { @if in_order { "Waiters, in order" } @else { "Known waiters, next first" } }
        table #waiters {
            thead { tr { th { "" } th { "Client" } th { "Mode" } th { "Waits" } th { "Works on" } th { "Owner" } } }
            tbody {
                @for (place, waiter) in lock.waiters.iter().enumerate() {
                    tr {
                        td { (place + 1) }
                        td { (client(waiter.client.as_ref())) }
                        td { (waiter.mode) }
                        td { (times::text(waiter.age)) }
                        td { @if let Some(work) = &waiter.work { (details(work)) } }
                        td { code { (waiter.owner) } }
                    }
                }
            }
        }
    }
}

fn holds(holder: &HolderInfo) -> String {
    match (holder.writes, holder.reads) {
        (0, 1) => "read".to_owned(),
        (1, 0) => "write".to_owned(),
        (writes, reads) => format!("{writes} writes, {reads} reads"),
    }
}

fn details(work: &WorkInfo) -> Markup {
    html! {
        (purpose(work))
        @if let Some(trace) = &work.trace_id { " " span .unknown { "trace " (trace) } }
        @if let Some(site) = &work.site { " " span .unknown { "at " (site) } }
        @if !work.also_holds.is_empty() {
            " also holds "
            @for held in &work.also_holds { (key(held)) " " }
        }
        @if work.local_waiters > 0 {
            " " span .unknown { (work.local_waiters) " waiting behind it in its process" }
        }
        @if let Some(wanted) = &work.waits_for { " waits for " (key(wanted)) }
    }
}
