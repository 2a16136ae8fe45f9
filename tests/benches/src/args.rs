//! The options of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::{http::Serving, measure::memory::Remembered, subject::Name, turns::Taking};

/// Measures the locks beside others and beside what Redis can do at most.
#[derive(Clone, Debug, Parser)]
#[command(name = "compare", args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) role: Option<Role>,
    /// Fewer and shorter runs: to see that it works, not to compare.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write everything here too, as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Write the figures between the markers of this document, and draw the plots into `plots`
    /// beside it.
    #[arg(long, conflicts_with = "only")]
    pub(crate) markdown: Option<PathBuf>,
    /// Measure only these.
    #[arg(long, value_enum)]
    pub(crate) only: Vec<What>,
}

/// A part of the comparison. The rows of the goals are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum What {
    Http,
    Instructions,
    ContendedTurn,
    #[value(name = "hot_key_4_processes")]
    HotKeyProcesses,
    HotKey,
    ReaderAmongReaders,
    CommandsWhileWaiting,
    #[value(name = "zookeeper")]
    ZooKeeper,
    ReconnectBytes,
    #[value(name = "renew_100k_commands")]
    Renewal,
    HotReads,
    SlowLink,
    #[value(name = "parallel64")]
    Parallel64,
    BytesPerHold,
    BytesPerWaiter,
    Throughput,
    HandOver,
    /// Takes twenty minutes more: only if it is named.
    TurnsVsRedisson,
}

/// What this program does in another process.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Role {
    /// Contends for one key.
    #[command(hide = true)]
    Turns(Taking),
    /// Serves HTTP.
    #[command(hide = true)]
    Serve(Serving),
    /// Holds or waits, and prints how much memory that takes.
    #[command(hide = true)]
    Remember(Remembered),
}

impl Args {
    /// Returns the parts to measure, in order.
    pub(crate) fn parts(&self) -> Vec<What> {
        let all = What::value_variants().iter().copied();
        match self.only.is_empty() {
            true => all.filter(|what| *what != What::TurnsVsRedisson).collect(),
            false => all.filter(|what| self.only.contains(what)).collect(),
        }
    }
}

/// A subject as another process is reported of it.
pub(crate) fn spelt(name: Name) -> String {
    let value = name.to_possible_value().expect("BUG: no subject is skipped");
    value.get_name().to_owned()
}
