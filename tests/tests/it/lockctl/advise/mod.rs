//! `advise`: what it works out is what happens then.

mod diff;
mod input;
mod kinds;
mod load;
mod log;
mod recorded;
mod scrapes;
mod workload;

/// A shadow log of five hundred writers of one key. Ten come together, one microsecond
/// after the other, and they work for so many milliseconds; the next ten come so many later.
pub(crate) fn tens(every: u64, work: u64) -> String {
    let line = |number: u64| {
        let arrived = 1_000_000 + number / 10 * every * 1_000 + number % 10;
        let held = work * 1_000;
        format!(
            "DEBUG lock_tower::shadow: m policy=\"order\" kind=\"read_write\" mode=\"write\" \
             keys=\"a\" hashed_by=\"h\" client=\"c\" arrived_us={arrived} held_us={held}\n"
        )
    };
    (0..500).map(line).collect()
}
