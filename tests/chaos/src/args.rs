//! The options of the command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};
use lock_tests::Wire;

use crate::worker::Settings;

/// Breaks Redis, ZooKeeper, links and processes under locks, and checks that every promise is kept.
#[derive(Clone, Debug, Parser)]
#[command(name = "campaign", args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) role: Option<Role>,
    /// How long it injects faults, over all deployments; starting and checking come on top.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) minutes: f64,
    /// What goes wrong and when follows from this number.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Where the locks are kept.
    #[arg(long, value_enum, default_value_t = Where::All)]
    pub(crate) deployment: Where,
    /// How locks stand in Redis.
    #[arg(long, value_enum, default_value_t = Wire::Native)]
    pub(crate) wire: Wire,
    /// Only these rows of faults.
    #[arg(long, value_delimiter = ',')]
    pub(crate) rows: Vec<u8>,
    /// Worker processes, at most nine.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) workers: u8,
    /// How long one deployment runs before the next has its turn, each time with new servers.
    #[arg(long, default_value_t = 120)]
    pub(crate) slice_seconds: u64,
    /// The first slice to run: to replay a later one without those before it.
    #[arg(long, default_value_t = 0)]
    pub(crate) first_slice: u64,
    /// Keep the raw histories of all slices here, not only those of a failure.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Write the figures here too, as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Print the schedule and end.
    #[arg(long)]
    pub(crate) schedule: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Role {
    /// One worker process: what the campaign starts.
    #[command(hide = true)]
    Worker(Settings),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Where {
    Standalone,
    Sentinel,
    Cluster,
    #[value(name = "zookeeper")]
    ZooKeeper,
    All,
}

impl Args {
    /// How much of the campaign is for faults.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.minutes * 60.0)
    }
}
