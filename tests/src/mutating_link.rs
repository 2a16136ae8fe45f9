//! A link that changes what a server answers.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use fastrand::Rng;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, copy, split},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::Identity;

/// One of so many answers is changed, so that most connections live for a while.
const ONE_OF: u32 = 12;

/// Lengths and numbers that are wrong, in each of the two protocols.
const NUMBERS: [i64; 8] =
    [-2, -1, 0, 1 << 31, (1 << 31) - 1, 1 << 62, i64::MAX, 9_007_199_254_740_993];

/// A connection, with TLS or without.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Copies bytes between clients and one server, and changes some of those to the client: a false server,
/// where it matters what it says. Dropping it ends every connection.
pub struct MutatingLink {
    addr: SocketAddr,
    shared: Arc<Shared>,
    _accepting: JoinSet<()>,
}

struct Shared {
    upstream: SocketAddr,
    tls: Option<TlsAcceptor>,
    rng: Mutex<Rng>,
    changed: AtomicU64,
    is_honest: AtomicBool,
}

impl fmt::Debug for MutatingLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutatingLink").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl MutatingLink {
    /// Starts a link to `upstream` on a separate port. It makes the same changes for the same seed.
    pub async fn start(upstream: SocketAddr, seed: u64) -> Self {
        Self::start_with(upstream, seed, None).await
    }

    /// Starts one that clients reach by TLS; the server behind it has none.
    pub async fn start_tls(upstream: SocketAddr, seed: u64, identity: &Identity) -> Self {
        let chain = CertificateDer::pem_slice_iter(identity.certificate().as_bytes());
        let chain = chain.collect::<Result<_, _>>().expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(identity.key().as_bytes()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions that the provider has")
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let tls = TlsAcceptor::from(Arc::new(config.expect("a key of the certificate")));
        Self::start_with(upstream, seed, Some(tls)).await
    }

    async fn start_with(upstream: SocketAddr, seed: u64, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            upstream,
            tls,
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
            let client: Box<dyn Stream> = match &shared.tls {
                None => Box::new(client),
                Some(tls) => match tls.accept(client).await {
                    Ok(client) => Box::new(client),
                    Err(_) => return,
                },
            };
            let server: Box<dyn Stream> = Box::new(server);
            let ((from_client, to_client), (from_server, to_server)) =
                (split(client), split(server));
            tokio::select! {
                () = pass(from_client, to_server) => {}
                () = change(from_server, to_client, &shared) => {}
            }
        });
    }
}

async fn pass(mut from: ReadHalf<Box<dyn Stream>>, mut to: WriteHalf<Box<dyn Stream>>) {
    let _ = copy(&mut from, &mut to).await;
}

async fn change(
    mut from: ReadHalf<Box<dyn Stream>>,
    mut to: WriteHalf<Box<dyn Stream>>,
    shared: &Shared,
) {
    let mut bytes = vec![0; 64 * 1_024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let answer = shared.answer(&bytes[..read]);
        if to.write_all(&answer).await.is_err() || to.flush().await.is_err() {
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
