//! A runtime that waits until Redis has answered everything. Otherwise the number of wake-ups, and so
//! of instructions, would depend on when the answers arrive.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{Mutex, PoisonError},
};

use tokio::runtime::{Builder, Runtime};

const PING: &[u8] = b"PING\r\n";
const PONG: &[u8] = b"+PONG\r\n";

/// One thread, which lets Redis answer before it waits for an answer. `server` is `host:port`.
pub(crate) fn runtime(server: &str) -> Runtime {
    let connection = TcpStream::connect(server).expect("a server");
    connection.set_nodelay(true).expect("a socket without delay");
    let connection = Mutex::new(connection);
    Builder::new_current_thread()
        .enable_all()
        // Otherwise the runtime would check for answers between two waits too, after 61 polls of tasks.
        .event_interval(u32::MAX)
        .on_thread_park(move || answered_by_redis(&connection))
        .build()
        .expect("a runtime")
}

/// Returns when everything that this process has sent is answered. Redis reads the first PING not
/// before all that was sent earlier, and the second not before the answers to all that are sent. The
/// name is known to the guard, which leaves these instructions out.
#[inline(never)]
fn answered_by_redis(connection: &Mutex<TcpStream>) {
    let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..2 {
        connection.write_all(PING).expect("a connection that stays open");
        let mut answer = [0; PONG.len()];
        connection.read_exact(&mut answer).expect("a connection that stays open");
        assert_eq!(answer, PONG);
    }
}
