//! The reply to another command: never a grant, and the connection is replaced.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use lock_core::AcquireError;
use lock_tests::{RedisServer, Wire, on_every_wire, unless_stalled};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::faults::{LONG, client_at, nothing_stays};

on_every_wire! {
    a_shifted_reply_is_never_a_grant
}

/// Puts one reply of its own before the next one of the server, as a client library that counts
/// replies wrongly would see it: from then on every reply of that connection is the one before.
async fn shift_replies(upstream: SocketAddr, shift: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(upstream).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            let shift = Arc::clone(&shift);
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 * 1024];
                while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                    if shift.swap(false, Ordering::SeqCst) {
                        // What a Redisson client would take for "acquired".
                        to_client.write_all(b"_\r\n").await.unwrap();
                    }
                    if to_client.write_all(&buffer[..read]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

async fn a_shifted_reply_is_never_a_grant(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let shift = Arc::new(AtomicBool::new(false));
        let address = shift_replies(server.addr(), Arc::clone(&shift)).await;
        let client = client_at(wire, &format!("redis://{address}")).await;
        let other = client_at(wire, &server.url()).await;
        for _ in 0..5 {
            let held = other.write("k").acquire().await.unwrap();
            // The pub/sub connection may be the one that is shifted; then nothing is to be seen here.
            shift.store(true, Ordering::SeqCst);
            let refused = client.write("k").try_acquire().await.unwrap_err();
            assert!(
                matches!(refused, AcquireError::Unavailable(_) | AcquireError::Busy(_)),
                "{refused}"
            );
            held.release().await.unwrap();
            let guard = client.write("k").wait(LONG).acquire().await.unwrap();
            guard.release().await.unwrap();
        }
        nothing_stays(&server, &[&client, &other]).await;
    })
    .await;
}
