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
    /// Only these.
    #[arg(long, value_enum)]
    pub(crate) only: Vec<What>,
    /// How the cost of one operation grows with what else is there, on top of the rest.
    #[arg(long)]
    pub(crate) curves: bool,
    /// Also Redisson, and Curator on ZooKeeper, on the JVM: needs a JDK and Maven.
    #[arg(long)]
    pub(crate) jvm: bool,
    /// Draw the curves into this directory, as SVG.
    #[arg(long)]
    pub(crate) plots: Option<PathBuf>,
}

/// A part of the comparison, by the ratio that comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum What {
    SequentialVsHandRolled,
    #[value(name = "parallel64_vs_rslock")]
    Parallel64VsRslock,
    #[value(name = "hot_key", aliases = ["hot_key_turn_us", "hot_key_commands_per_turn"])]
    HotKey,
    #[value(name = "hot_key_4_processes_vs_rtt")]
    HotKeyProcesses,
    #[value(name = "release_1000_readers")]
    ReleaseAmongReaders,
    HotReadsCommandsPerRead,
    #[value(name = "link_1ms_vs_hand_rolled")]
    SlowLink,
    HttpVsHandRolled,
    #[value(name = "renew_100k_commands")]
    RenewCommands,
    BytesPerHold,
    BytesPerWaiter,
    /// Needs a JDK and Maven.
    TurnsVsRedisson,
    /// Needs a JDK and Maven.
    #[value(name = "zookeeper")]
    ZooKeeper,
    CurveReaders,
    CurveWaiters,
    CurveKeys,
    CurveProcesses,
}

impl What {
    fn is_curve(self) -> bool {
        use What::{CurveKeys, CurveProcesses, CurveReaders, CurveWaiters};
        matches!(self, CurveReaders | CurveWaiters | CurveKeys | CurveProcesses)
    }
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
    /// What is to be measured, in order.
    pub(crate) fn parts(&self) -> Vec<What> {
        let all = What::value_variants().iter().copied();
        match self.only.is_empty() {
            true => all.filter(|what| self.asks_for(*what)).collect(),
            false => all.filter(|what| self.only.contains(what)).collect(),
        }
    }

    fn asks_for(&self, what: What) -> bool {
        match what {
            What::TurnsVsRedisson | What::ZooKeeper => self.jvm,
            what => self.curves || !what.is_curve(),
        }
    }
}

/// A subject as another process is reported of it.
pub(crate) fn spelt(name: Name) -> String {
    let value = name.to_possible_value().expect("BUG: no subject is skipped");
    value.get_name().to_owned()
}
