//! A link that changes what a server answers.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use fastrand::Rng;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
};

/// One of so many answers is changed, so that most connections live for a while.
const ONE_OF: u32 = 12;

/// Lengths and numbers that are wrong, in each of the two protocols.
const NUMBERS: [i64; 8] =
    [-2, -1, 0, 1 << 31, (1 << 31) - 1, 1 << 62, i64::MAX, 9_007_199_254_740_993];

/// Copies bytes between clients and one server, and changes some of those to the client: a false server,
/// where it matters what it says. Dropping it ends every connection.
#[derive(Debug)]
pub struct MutatingLink {
    addr: SocketAddr,
    shared: Arc<Shared>,
    _accepting: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    rng: Mutex<Rng>,
    changed: AtomicU64,
    is_honest: AtomicBool,
}

impl MutatingLink {
    /// Starts a link to `upstream` on a separate port. It makes the same changes for the same seed.
    pub async fn start(upstream: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            upstream,
            rng: Mutex::new(Rng::with_seed(seed)),
            changed: AtomicU64::new(0),
            is_honest: AtomicBool::new(false),
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&shared)));
        Self { addr, shared, _accepting: accepting }
    }

    /// Where clients connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// How many answers were changed.
    pub fn changed(&self) -> u64 {
        self.shared.changed.load(Ordering::Relaxed)
    }

    /// From now on it changes nothing.
    pub fn be_honest(&self) {
        self.shared.is_honest.store(true, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut links = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        let Ok(server) = TcpStream::connect(shared.upstream).await else { continue };
        while links.try_join_next().is_some() {}
        let shared = Arc::clone(&shared);
        links.spawn(async move {
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::select! {
                () = pass(from_client, to_server) => {}
                () = change(from_server, to_client, &shared) => {}
            }
        });
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let _ = copy(&mut from, &mut to).await;
}

async fn change(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) {
    let mut bytes = vec![0; 64 * 1_024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let answer = shared.answer(&bytes[..read]);
        if to.write_all(&answer).await.is_err() {
            return;
        }
    }
}

impl Shared {
    fn answer(&self, answer: &[u8]) -> Vec<u8> {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_honest.load(Ordering::Relaxed) || rng.u32(..ONE_OF) > 0 {
            return answer.to_vec();
        }
        self.changed.fetch_add(1, Ordering::Relaxed);
        changed(answer, &mut rng)
    }
}

fn changed(answer: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut answer = answer.to_vec();
    let at = rng.usize(..answer.len());
    let number = NUMBERS[rng.usize(..NUMBERS.len())];
    match rng.u32(..9) {
        0 => answer[at] ^= 1 << rng.u32(..8),
        1 => answer.truncate(at),
        2 => {
            answer.remove(at);
        }
        3 => answer.insert(at, rng.u8(..)),
        4 => answer.extend_from_within(..),
        // A length or a number of Redis' protocol, from the nearest digit on.
        5 | 6 => {
            let begin = (at..answer.len()).find(|at| answer[*at].is_ascii_digit()).unwrap_or(at);
            let digits = answer[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            answer.splice(begin..begin + digits, number.to_string().into_bytes());
        }
        // One of ZooKeeper's: the length of a message, the first number or length in it, any other.
        7 => {
            let at = [0, 20, at][rng.usize(..3)];
            let new = number.to_be_bytes().into_iter().skip(4);
            answer.iter_mut().skip(at).zip(new).for_each(|(byte, new)| *byte = new);
        }
        _ => {
            let message = ">3\r\n$7\r\nmessage\r\n$6\r\nlock:k\r\n$1\r\n0\r\n";
            answer.splice(..0, message.repeat(1_000).into_bytes());
        }
    }
    answer
}
