//! A service whose handlers exclude each other by other than one read/write lock, for tests with
//! several of its processes.
//!
//! `POST /line/{name}` appends a line to the file `line` in `$DATA_DIR`, first come, first served.
//! `POST /pay/{from}/{to}` moves one unit between two files there, under the locks of both. The
//! locks are in the Redis at `$REDIS_URL`. `POST /turn/{name}` appends its name to the file `turns` twenty
//! times, and is replaced by the next one. It prints its address.

use std::{
    env,
    error::Error,
    fs::{self, OpenOptions},
    io::{self, Write},
    net::Ipv4Addr,
    path::{Path as FilePath, PathBuf},
    time::Duration,
};

use axum::{Extension, Router, extract::Path, http::StatusCode, routing::post};
use lock_tower::{
    Kind, LockClient, RequestLockLayer, RequestScopeLayer, distributed_lock, settings::OnBusy,
};
use tokio::{net::TcpListener, time::sleep};

/// Longer than any test: what is not released stays.
const LEASE: Duration = Duration::from_secs(600);
const WAIT: Duration = Duration::from_secs(120);
/// So that a busy machine does not count as an outage.
const PATIENCE: Duration = Duration::from_secs(20);

type Directory = Extension<PathBuf>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = LockClient::builder().lease(LEASE).wait(WAIT).command_timeout(PATIENCE);
    let locks = locks.connect(&env::var("REDIS_URL")?).await?;
    let directory = PathBuf::from(env::var("DATA_DIR")?);
    let line = RequestLockLayer::new(locks.clone(), "line")?.kind(Kind::Fair);
    let turn = RequestLockLayer::new(locks.clone(), "turn")?;
    let turn = turn.on_busy(OnBusy::Replace).replace_by("anyone");
    let router = Router::new()
        .route("/turn/{name}", post(take_turn).route_layer(turn))
        .route("/line/{name}", post(stand_in_line).route_layer(line))
        .route("/pay/{from}/{to}", post(pay))
        .layer(RequestScopeLayer::new(locks))
        .layer(Extension(directory));

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn stand_in_line(Path(name): Path<String>, Extension(data): Directory) -> StatusCode {
    let line = OpenOptions::new().append(true).create(true).open(data.join("line"));
    answer(line.and_then(|mut line| writeln!(line, "{name}")))
}

async fn take_turn(Path(name): Path<String>, Extension(data): Directory) -> StatusCode {
    for _ in 0..20 {
        let turns = OpenOptions::new().append(true).create(true).open(data.join("turns"));
        if turns.and_then(|mut turns| writeln!(turns, "{name}")).is_err() {
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        sleep(Duration::from_millis(5)).await;
    }
    StatusCode::OK
}

#[distributed_lock(keys = ["account:{from}", "account:{to}"])]
async fn pay(
    Path((from, to)): Path<(String, String)>,
    Extension(data): Directory,
) -> Result<StatusCode, StatusCode> {
    let (from, to) = (data.join(from), data.join(to));
    let (rich, poor) = (read(&from)?, read(&to)?);
    // What would be lost without the locks.
    sleep(Duration::from_millis(1)).await;
    Ok(answer(write(&from, rich - 1).and_then(|()| write(&to, poor + 1))))
}

fn read(account: &FilePath) -> Result<i64, StatusCode> {
    let text = fs::read_to_string(account).unwrap_or_default();
    text.parse().map_err(|_| StatusCode::NOT_FOUND)
}

fn write(account: &FilePath, balance: i64) -> io::Result<()> {
    fs::write(account, balance.to_string())
}

fn answer(done: io::Result<()>) -> StatusCode {
    done.map_or(StatusCode::INTERNAL_SERVER_ERROR, |()| StatusCode::OK)
}
