//! A link to Redis that takes its time: whatever goes in at one end comes out at the other so much
//! later, however much is on its way.
//!
//! Threads and blocking sockets, for the timers of a runtime go no finer than a millisecond.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

/// Larger than what a client writes at once.
const PIECE: usize = 256 * 1024;

/// It stands until this program ends.
pub(crate) struct Link {
    pub(crate) url: String,
    pieces: Arc<AtomicU64>,
}

impl Link {
    /// One on which each way takes half of the delay.
    pub(crate) fn to(server: SocketAddr, delay: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let url = format!("redis://{}", listener.local_addr().expect("a bound socket"));
        let pieces = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&pieces);
        thread::spawn(move || {
            for client in listener.incoming() {
                let linked = client.and_then(|client| link(client, server, delay / 2, &counted));
                linked.expect("a connection to Redis");
            }
        });
        Self { url, pieces }
    }

    /// How often clients have written, as far as one write arrives in one piece.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces.load(Ordering::Relaxed)
    }
}

fn link(
    client: TcpStream,
    server: SocketAddr,
    delay: Duration,
    pieces: &Arc<AtomicU64>,
) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    // Neither end may hold anything back.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    go_one_way(client.try_clone()?, server.try_clone()?, delay, Arc::clone(pieces));
    go_one_way(server, client, delay, Arc::default());
    Ok(())
}

fn go_one_way(mut from: TcpStream, to: TcpStream, delay: Duration, pieces: Arc<AtomicU64>) {
    let (enters, leaves) = mpsc::channel();
    thread::spawn(move || arrive(to, &leaves));
    thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(read @ 1..) = from.read(&mut piece) {
            pieces.fetch_add(1, Ordering::Relaxed);
            if enters.send((Instant::now() + delay, piece[..read].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// Forwards each piece at its time, until the sender or the receiver is gone.
fn arrive(mut to: TcpStream, leaves: &Receiver<(Instant, Vec<u8>)>) {
    for (due, piece) in leaves {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_as_it_was_and_no_sooner() {
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let server = echo.local_addr().expect("a bound socket");
        thread::spawn(move || {
            let (mut client, _) = echo.accept().expect("a client");
            let mut answers = client.try_clone().expect("a handle");
            io::copy(&mut client, &mut answers)
        });
        let delay = Duration::from_millis(20);
        let link = Link::to(server, delay);
        let address = link.url.strip_prefix("redis://").expect("a URL");
        let mut client = TcpStream::connect(address).expect("a connection");
        let sent = Instant::now();
        for piece in [b"one", b"two"] {
            client.write_all(piece).expect("an open connection");
        }
        client.shutdown(Shutdown::Write).expect("an open connection");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        assert_eq!(answer, "onetwo");
        assert!(sent.elapsed() >= delay);
        assert!((1..=2).contains(&link.pieces()));
    }
}
