//! The measurements, one file for each.

mod commands_while_waiting;
mod contended_turn;
mod hot_key;
mod hot_reads;
mod instructions;
pub(crate) mod memory;
mod processes;
mod readers;
mod reconnect;
mod redisson;
mod renewal;
mod slow_link;
mod uncontended;
mod zookeeper;

use crate::{args::What, http, report::Report, setup::BenchSetup};

pub(crate) use renewal::take_many;

pub(crate) async fn measure(what: What, world: &BenchSetup) -> Report {
    match what {
        What::Http => http::http(world).await,
        What::Instructions => instructions::instructions().await,
        What::ContendedTurn => contended_turn::contended_turn(world).await,
        What::HotKeyProcesses => processes::processes(world).await,
        What::HotKey => hot_key::hot_key(world).await,
        What::ReaderAmongReaders => readers::readers().await,
        What::CommandsWhileWaiting => commands_while_waiting::waiting(world).await,
        What::ZooKeeper => zookeeper::beside_curator(world).await,
        What::ReconnectBytes => reconnect::reconnect(world).await,
        What::Renewal => renewal::renewal(world).await,
        What::HotReads => hot_reads::hot_reads(world).await,
        What::SlowLink => slow_link::slow_link(world).await,
        What::Parallel64 => uncontended::parallel(world).await,
        What::BytesPerHold => memory::per_hold(world).await,
        What::BytesPerWaiter => memory::per_waiter(world).await,
        What::Throughput => uncontended::throughput(world).await,
        What::HandOver => processes::hand_over(world).await,
        What::TurnsVsRedisson => redisson::beside_redisson(world).await,
    }
}
