//! A service whose one handler works step by step, for tests that stop its process.
//!
//! `POST /{job}` writes a line to the file `$STEPS_FILE` every `STEP`, forever, under a write lock
//! in the Redis at `$REDIS_URL`. It prints its address.

use std::{
    convert::Infallible, env, error::Error, fs::File, io::Write, net::Ipv4Addr, sync::Arc,
    time::Duration,
};

use axum::{Extension, Router, routing::post};
use lock_tower::{LockClient, RequestLockLayer};
use tokio::{net::TcpListener, time::sleep};

const LEASE: Duration = Duration::from_secs(1);

/// So long that a test which sees a line come can stop the process before the next.
const STEP: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = LockClient::connect(&env::var("REDIS_URL")?).await?;
    let lock = RequestLockLayer::new(locks, "{job:text}")?.lease(LEASE);
    let file = Arc::new(File::create(env::var("STEPS_FILE")?)?);
    let router = Router::new().route("/{job}", post(work)).route_layer(lock).layer(Extension(file));

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn work(Extension(file): Extension<Arc<File>>) -> Infallible {
    loop {
        writeln!(&*file, "step").expect("cannot write a step");
        sleep(STEP).await;
    }
}
