//! What is measured, one file per subject.

mod hot_key;
mod hot_reads;
pub(crate) mod memory;
mod processes;
pub(crate) mod readers;
mod redisson;
mod renewal;
mod slow_link;
mod uncontended;
mod zookeeper;

use crate::{args::What, curves, http, report::Report, setup::BenchSetup};

pub(crate) use hot_key::{Contending, contest};
pub(crate) use processes::contest_of_processes;
pub(crate) use renewal::take_many;

pub(crate) async fn measure(what: What, world: &BenchSetup) -> Report {
    match what {
        What::SequentialVsHandRolled => uncontended::sequential(world).await,
        What::Parallel64VsRslock => uncontended::parallel(world).await,
        What::HotKey => hot_key::hot_key(world).await,
        What::HotKeyProcesses => processes::processes(world).await,
        What::ReleaseAmongReaders => readers::release_among_readers(world).await,
        What::HotReadsCommandsPerRead => hot_reads::hot_reads(world).await,
        What::SlowLink => slow_link::slow_link(world).await,
        What::HttpVsHandRolled => http::http(world).await,
        What::RenewCommands => renewal::renewal(world).await,
        What::BytesPerHold => memory::per_hold(world).await,
        What::BytesPerWaiter => memory::per_waiter(world).await,
        What::TurnsVsRedisson => redisson::beside_redisson(world).await,
        What::ZooKeeper => zookeeper::beside_curator(world).await,
        What::CurveReaders => curves::readers(world).await,
        What::CurveWaiters => curves::waiters(world).await,
        What::CurveKeys => curves::keys(world).await,
        What::CurveProcesses => curves::processes(world).await,
    }
}
