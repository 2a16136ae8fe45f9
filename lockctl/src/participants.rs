//! Formats holders and waiters of a lock, as text and as JSON.

use lock_core::{__private::time_text, ClientInfo, HolderInfo, Kind, WaiterInfo, WorkInfo};

use crate::{live::Live, visible::visible};

/// More would not fit on one screen.
const MOST_SHOWN: usize = 15;

/// Formats the first holders, one line each, and below it what a long one is for.
pub(crate) fn holders(live: &Live, holders: &[HolderInfo], kind: Option<Kind>) -> Vec<String> {
    let rows = holders.iter().take(MOST_SHOWN).map(|holder| {
        let holds = match kind {
            Some(Kind::Semaphore) => "permit".to_owned(),
            _ => holds(holder),
        };
        [
            client_name(holder.client.as_ref()),
            holds,
            visible(&holder.owner),
            live.left(holder.remaining),
            holder.age.map_or_else(String::new, |age| format!("for {}", time_text(age))),
        ]
    });
    let works = holders.iter().map(|holder| holder.work.as_ref());
    with_work(aligned(&rows.collect::<Vec<_>>()), works)
}

/// Formats the first waiters as [`holders`] does, in the order of the queue.
pub(crate) fn waiters(waiters: &[WaiterInfo]) -> Vec<String> {
    let rows = waiters.iter().take(MOST_SHOWN).map(|waiter| {
        [
            client_name(waiter.client.as_ref()),
            waiter.mode.to_string(),
            visible(&waiter.owner),
            waiter.age.map_or_else(String::new, |age| format!("for {}", time_text(age))),
        ]
    });
    let works = waiters.iter().map(|waiter| waiter.work.as_ref());
    with_work(aligned(&rows.collect::<Vec<_>>()), works)
}

pub(crate) fn client_name(client: Option<&ClientInfo>) -> String {
    client.map_or_else(
        || "(unnamed)".to_owned(),
        |client| visible(&format!("{} {}", client.service, client.instance)),
    )
}

fn holds(holder: &HolderInfo) -> String {
    let counted = |count: u32, what: &str| match count {
        0 => None,
        1 => Some(what.to_owned()),
        more => Some(format!("{what} x{more}")),
    };
    let both = [counted(holder.writes, "write"), counted(holder.reads, "read")];
    both.into_iter().flatten().collect::<Vec<_>>().join(" + ")
}

pub(crate) fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or_default());
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The lines of participants with their work below, and the number of participants without a line.
fn with_work<'a>(
    lines: Vec<String>,
    works: impl ExactSizeIterator<Item = Option<&'a WorkInfo>>,
) -> Vec<String> {
    let hidden = works.len() - lines.len();
    let below = |work: Option<&WorkInfo>| Some(format!("    {}", words(work?)?));
    let with = lines.into_iter().zip(works).flat_map(|(line, work)| [Some(line), below(work)]);
    let more = (hidden > 0).then(|| format!("  and {hidden} more: --json has them"));
    with.flatten().chain(more).collect()
}

/// A participant's work, in one line; `None` if it is not known.
pub(crate) fn words(work: &WorkInfo) -> Option<String> {
    let named = |what: &str, text: &Option<String>| {
        text.as_ref().map(|text| visible(&format!("{what}{text}")))
    };
    let also = (!work.also_holds.is_empty())
        .then(|| visible(&format!("also holds {}", work.also_holds.join(" "))));
    let words = [
        named("", &work.route),
        named("", &work.name),
        named("at ", &work.site),
        named("request ", &work.request_id),
        named("trace ", &work.trace_id),
        also,
        named("waits for ", &work.waits_for),
        (work.local_waiters > 0)
            .then(|| format!("{} waiting behind it in its process", work.local_waiters)),
    ];
    let words: Vec<_> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}
