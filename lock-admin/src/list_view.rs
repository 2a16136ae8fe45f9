//! The list of locks.

use lock_core::{__private::visible, ClientInfo, HotKey, WorkInfo};
use maud::{Markup, html};

use super::{
    plot,
    query::{Subject, link},
    reader::{ListView, ProcessView, Row, Wait},
    times,
};

pub(crate) fn content(subject: &Subject, list: &ListView) -> Markup {
    html! {
        @if !list.complete {
            p .bad { "A part of the lock store does not answer: there may be more locks than these." }
        }
        (table(list))
        @if let (Some(next), Subject::List { limit, .. }) = (&list.next, subject) {
            p {
                a rel="next" href=(link(&[("prefix", &list.prefix), ("limit", &limit.to_string()), ("after", next)])) {
                    "More locks"
                }
            }
        }
        @if !list.longest_waits.is_empty() { (waits(&list.longest_waits)) }
        @if !list.hot_keys.is_empty() { (hot_keys(&list.hot_keys)) }
        (process(&list.process))
    }
}

fn table(list: &ListView) -> Markup {
    html! {
        table #locks {
            thead {
                tr {
                    th { "Key" } th { "Kind" } th { "Mode" } th { "Holder" } th { "For" }
                    th { "Left" } th { "Waiters" } th { "Works on" }
                }
            }
            tbody { @for row in &list.locks { (lock(row)) } }
        }
        @if list.locks.is_empty() {
            p { "No lock is held" @if !list.prefix.is_empty() { " under " code { (visible(&list.prefix)) } } "." }
        }
    }
}

fn lock(row: &Row) -> Markup {
    let holders = row.lock.as_ref().map(|lock| lock.holders.as_slice()).unwrap_or_default();
    let longest = row.waiters().iter().filter_map(|waiter| waiter.age).max();
    html! {
        tr {
            td { (key(&row.key)) }
            @if let Some(lock) = &row.lock {
                td { @if let Some(kind) = lock.kind { (kind) } }
                td { @if let Some(mode) = lock.mode { (mode) } }
                td {
                    @match holders {
                        [] => "not held",
                        [holder] => (client(holder.client.as_ref())),
                        [holder, rest @ ..] => {
                            (client(holder.client.as_ref())) " and " (rest.len()) " more"
                        }
                    }
                }
                td { (times::text(holders.iter().filter_map(|holder| holder.age).max())) }
                td { (times::text(lock.remaining)) }
                td {
                    @if lock.waiting > 0 { (lock.waiting) }
                    @if let Some(longest) = longest { ", longest " (times::text(Some(longest))) }
                }
                td { @if let Some(work) = holders.first().and_then(|holder| holder.work.as_ref()) { (purpose(work)) } }
            } @else {
                td .bad colspan="7" { (visible(row.error.as_deref().unwrap_or_default())) }
            }
        }
    }
}

fn waits(waits: &[Wait]) -> Markup {
    html! {
        h2 { "Longest waits of these locks" }
        table #waits {
            thead { tr { th { "Waits" } th { "Key" } th { "Mode" } th { "Waiter" } th { "Works on" } } }
            tbody {
                @for wait in waits {
                    tr {
                        td { (times::text(wait.waiter.age)) }
                        td { (key(&wait.key)) }
                        td { (wait.waiter.mode) }
                        td { (client(wait.waiter.client.as_ref())) }
                        td { @if let Some(work) = &wait.waiter.work { (purpose(work)) } }
                    }
                }
            }
        }
    }
}

fn process(process: &ProcessView) -> Markup {
    let events = &process.events;
    html! {
        section #process {
            h2 { "This process" }
            p {
                (process.holds) " locks acquired, held or released; " (process.waiting)
                " acquisitions wait for another one of this process. Store: " (process.store)
                @if let Some(time) = process.round_trip_ms { ", answers in " (format!("{time:.1} ms")) }
                "."
            }
            @if process.breaker_open { p .bad { "The store, or a part of it, does not answer." } }
            @if process.draining { p .bad { "The client shuts down." } }
            (plot::bars("refused in the last quarter of an hour", &events.refused))
            (plot::bars("lost in the last quarter of an hour", &events.lost))
        }
    }
}

fn hot_keys(keys: &[HotKey]) -> Markup {
    html! {
        h2 { "Hot keys" }
        table #hot {
            thead { tr { th { "Key" } th { "Found taken" } th { "Waited in total" } } }
            tbody {
                @for hot in keys {
                    tr {
                        td { (key(&hot.key)) }
                        td {
                            (hot.contended) " times"
                            @if hot.overcount > 0 { ", or up to " (hot.overcount) " fewer" }
                        }
                        td { (times::text(Some(hot.waited))) }
                    }
                }
            }
        }
    }
}

/// A key, with a link to its lock.
pub(crate) fn key(key: &str) -> Markup {
    html! { a href=(link(&[("key", key)])) { (visible(key)) } }
}

pub(crate) fn client(client: Option<&ClientInfo>) -> Markup {
    html! {
        @match client {
            Some(client) => { (client.service) " " (client.instance) }
            None => span .unknown { "unnamed" }
        }
    }
}

/// In one line: the route, or the name of the acquisition, and the request's id.
pub(crate) fn purpose(work: &WorkInfo) -> Markup {
    html! {
        @if let Some(what) = work.route.as_ref().or(work.name.as_ref()) { (what) }
        @if let Some(id) = &work.request_id { " " span .unknown { "request " (id) } }
    }
}
