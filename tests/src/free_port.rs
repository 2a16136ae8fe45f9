//! A port for a server that is about to start.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range that Linux uses for outgoing connections. A port from that range may be taken by
/// any client while its server restarts, and a client on this host that keeps connecting to it may even
/// be connected to itself.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Different test processes start at different ports; within one process no port is returned twice.
static NEXT: LazyLock<AtomicU16> =
    LazyLock::new(|| AtomicU16::new((RandomState::new().build_hasher().finish() & 0xffff) as u16));

/// Returns a TCP port of 127.0.0.1 without a listener.
///
/// Another process may take it before its future owner does, so a caller that starts a server on it
/// must be ready to use the next one.
pub fn free_port() -> u16 {
    (0..COUNT)
        .map(|_| FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("no free TCP port on 127.0.0.1")
}
