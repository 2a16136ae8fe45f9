//! A port for a server that is about to start.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range that Linux gives to outgoing connections. A port from that range may be taken
/// by any client while its server is down for a restart, and a client that keeps asking for it on
/// this very host may even be connected to itself.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Tests of different processes start at different places; within one process no port comes twice.
static NEXT: LazyLock<AtomicU16> =
    LazyLock::new(|| AtomicU16::new((RandomState::new().build_hasher().finish() & 0xffff) as u16));

/// A TCP port of 127.0.0.1 that nobody listens on now.
///
/// Another process may take it before its future owner does, so whoever starts a server on it is
/// ready to ask for the next.
pub fn free_port() -> u16 {
    (0..COUNT)
        .map(|_| FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("no free TCP port on 127.0.0.1")
}
