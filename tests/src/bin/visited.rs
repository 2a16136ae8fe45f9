//! A service whose handlers visit a room that detects which requests are inside.
//!
//! Every route locks `{key}` in the Redis at `$REDIS_URL`, on the wire `$WIRE`, with a lease of `$LEASE_MS` and a command
//! timeout of `$COMMAND_TIMEOUT_MS`; the room is the directory `$ROOM`. It listens on `$PORT`, says
//! where, and on SIGTERM ends as the README teaches.
//!
//! | route | what it does under its lock |
//! |---|---|
//! | `/work/{key}/{ms}` | stays so long; waits 5 s for the lock |
//! | `/crowd/{key}/{ms}` | the same; waits 5 minutes, with room for 20,000 waiters |
//! | `/queue/{key}/{ms}` | the same; waits 5 minutes, with as many waiters as are usual |
//! | `/upload/{key}` | reads the request's body as it comes, for 1.5 s at the most |
//! | `/download/{key}` | sends 256 MiB, for 1.5 s at the most |
//! | `/health` | without a lock: how many hold and wait in this process, and its memory in KiB |

use std::{env, error::Error, fs, io, net::Ipv4Addr, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use clap::ValueEnum;
use futures_util::{StreamExt, stream};
use hyper::body::Bytes;
use lock_tests::{Room, Visit, Wire, raise_file_limit};
use lock_tower::{
    LockClient, Locked, Mode, RequestLockLayer,
    settings::{HoldUntil, RequestBody},
    shutdown_signal,
};
use tokio::{net::TcpListener, time::sleep};

const WAIT: Duration = Duration::from_secs(5);
const LONG_WAIT: Duration = Duration::from_secs(5 * 60);
const MOST: Duration = Duration::from_millis(1_500);
const CONNECTIONS: u64 = 12_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    raise_file_limit(CONNECTIONS);
    let locks = Wire::from_str(&env::var("WIRE")?, true)?
        .builder()
        .lease(milliseconds("LEASE_MS")?)
        .command_timeout(milliseconds("COMMAND_TIMEOUT_MS")?)
        .connect(&env::var("REDIS_URL")?)
        .await?;
    let port: u16 = env::var("PORT")?.parse()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let stop = shutdown_signal();
    println!("listening on http://{}", listener.local_addr()?);

    let router = router(&locks, Room::at(env::var("ROOM")?))?;
    axum::serve(listener, router).with_graceful_shutdown(stop).await?;
    locks.shutdown(Duration::from_secs(5)).await?;
    println!("shut down");
    Ok(())
}

fn milliseconds(variable: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::from_millis(env::var(variable)?.parse()?))
}

fn router(locks: &LockClient, room: Room) -> Result<Router, Box<dyn Error>> {
    let lock = || RequestLockLayer::new(locks.clone(), "{key:text}");
    let crowd = lock()?.wait(LONG_WAIT).max_waiters(20_000);
    let upload_lock = lock()?.max_hold(MOST).body(RequestBody::Stream);
    let download = lock()?.max_hold(MOST).hold_until(HoldUntil::Body);
    let route =
        |path: &str, lock: RequestLockLayer| Router::new().route(path, any(stay)).route_layer(lock);
    let locked = route("/work/{key}/{ms}", lock()?.wait(WAIT))
        .merge(route("/crowd/{key}/{ms}", crowd))
        .merge(route("/queue/{key}/{ms}", lock()?.wait(LONG_WAIT)))
        .merge(Router::new().route("/upload/{key}", any(upload)).route_layer(upload_lock))
        .merge(Router::new().route("/download/{key}", any(send)).route_layer(download))
        .with_state(room);
    Ok(locked.route("/health", get(health)).with_state(locks.clone()))
}

/// Enters the room, which must be locked by now.
fn enter(room: &Room, key: &str, lock: &Locked, head: &HeaderMap, step: u32) -> io::Result<Visit> {
    let id = head.get("x-request-id").and_then(|id| id.to_str().ok());
    let id = id.ok_or_else(|| io::Error::other("a request without an x-request-id"))?;
    let id = if step == 0 { id.to_owned() } else { format!("{id}.{step}") };
    if !lock.is_held() {
        room.wrong(&format!("{key}: {id} is not locked"))?;
    }
    room.enter(key, &id, lock.mode() == Mode::Write)
}

fn failed(error: impl Error) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
}

async fn stay(
    State(room): State<Room>,
    Path((key, ms)): Path<(String, u64)>,
    lock: Locked,
    head: HeaderMap,
) -> Response {
    match enter(&room, &key, &lock, &head, 0) {
        Ok(_visit) => {
            sleep(Duration::from_millis(ms)).await;
            "done".into_response()
        }
        Err(error) => failed(error),
    }
}

async fn upload(
    State(room): State<Room>,
    Path(key): Path<String>,
    lock: Locked,
    head: HeaderMap,
    body: Body,
) -> Response {
    let _visit = match enter(&room, &key, &lock, &head, 0) {
        Ok(visit) => visit,
        Err(error) => return failed(error),
    };
    match to_bytes(body, usize::MAX).await {
        Ok(body) => format!("{} bytes", body.len()).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

/// Each part of the body is a visit: a body that is not read makes no progress.
async fn send(
    State(room): State<Room>,
    Path(key): Path<String>,
    lock: Locked,
    head: HeaderMap,
) -> Response {
    let part = Bytes::from(vec![b'x'; 64 * 1024]);
    let parts = stream::iter(0..4 * 1024).map(move |number| {
        let visit = enter(&room, &key, &lock, &head, number);
        visit.map(|_visit| part.clone())
    });
    Response::new(Body::from_stream(parts))
}

async fn health(State(locks): State<LockClient>) -> Result<String, StatusCode> {
    let health = locks.health().await;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.and_then(|memory| memory.trim().strip_suffix(" kB")).unwrap_or("0");
    Ok(format!(
        "{{\"holds\": {}, \"waiting\": {}, \"kib\": {memory}}}",
        health.holds, health.waiting
    ))
}
