//! A shop that never sells more than it has, however many requests and processes buy at once.
//!
//! `cargo run -p examples --bin quickstart` first shows the point, then serves until Ctrl-C.
//! With `--once` it stops after showing the point.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `PORT` | where it listens, on 127.0.0.1; `0` for any free port | 3000 |
//! | `LOCK_URL` | where the locks are, for several processes to share: Redis, or with the feature `zookeeper` ZooKeeper | in memory |
//! | `REDIS_URL` | the same, if `LOCK_URL` is not set | in memory |
//! | `DATA_DIR` | where the stock is, for several processes to share | a temporary directory |
//! | `STOCK` | units of each item at first | 100 |

mod demonstration;
mod failure;
mod settings;
mod shelves;
mod shop;
mod sku;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use lock_tower::shutdown_signal;
use tokio::net::TcpListener;

use crate::{failure::Failure, settings::Settings};

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("quickstart: {failure}");
            failure.exit_code()
        }
    }
}

async fn run() -> Result<(), Failure> {
    let settings = Settings::from_env()?;
    if settings.once {
        return demonstration::show().await;
    }
    let data = settings.data()?;
    let locks = settings.locks().await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port))
        .await
        .map_err(|error| Failure::port(settings.port, error))?;
    // From now on: the demonstration takes a moment.
    let stop = shutdown_signal();

    demonstration::show().await?;
    invite(listener.local_addr()?);

    let shop = shop::router(locks.clone(), data.shelves(settings.stock));
    axum::serve(listener, shop).with_graceful_shutdown(stop).await?;
    // Every request has been answered by now, but the last releases may still be in progress.
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

fn invite(address: SocketAddr) {
    println!(
        "\
listening on http://{address}

In another terminal, look, and buy one:
  curl http://{address}/stock/apple
  curl -X POST http://{address}/stock/apple/take

A recount takes three seconds and has its shelf to itself. Of two, one is answered 423 Locked:
  curl -X POST http://{address}/stock/apple/recount &
  curl -i -X POST http://{address}/stock/apple/recount
"
    );
}
