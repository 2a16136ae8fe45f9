//! A TCP link that fails on command.

mod link;
mod spelling;
mod way;

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};

use link::{Socket, link};
use way::Way;

/// The direction of the bytes that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server: commands.
    ToServer,
    /// From the server to the client: replies and messages.
    ToClient,
    /// Both ways.
    Both,
}

/// Copies bytes between its clients and one server, until the test injects a fault.
///
/// Faults apply to present and future connections, until [`pass`](Self::pass). Dropping the proxy
/// resets every connection.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    upstream: Mutex<SocketAddr>,
    /// For how long a server that refuses connections is tried again.
    patience: Duration,
    to_server: Way,
    to_client: Way,
    refusing: AtomicBool,
    /// The number of connections so far; it is the number of the next one.
    served: AtomicU64,
    /// Connections with a smaller number are closed to the server.
    forgotten: watch::Sender<u64>,
    links: Mutex<JoinSet<()>>,
}

impl Proxy {
    /// Starts a proxy for `upstream` that passes everything, on a separate port of 127.0.0.1.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, crate::free_port())).await;
        Self::run(listener, upstream, Way::default(), Duration::ZERO)
    }

    /// As [`start`](Self::start), for a server that may be about to listen: a client that connects waits
    /// for it for up to `patience`. Without a proxy it would be refused, and would try again.
    pub(crate) async fn start_patient(upstream: SocketAddr, patience: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, crate::free_port())).await;
        Self::run(listener, upstream, Way::default(), patience)
    }

    /// Starts a proxy for `upstream`, a server on 127.0.0.1, at `127.0.<digit>.1` and the server's port.
    ///
    /// Wherever a reply names 127.0.0.1, the client reads `127.0.<digit>.1`: a node that is
    /// announced by Sentinels or by other nodes of a cluster is reached through the proxy of the
    /// same digit that stands before it. Linux has all these addresses; elsewhere they must be
    /// given to the loopback interface first.
    pub async fn in_front_of(upstream: SocketAddr, digit: u8) -> Self {
        assert!((1..=9).contains(&digit), "one digit, or replies would change their length");
        let host = Ipv4Addr::new(127, 0, digit, 1);
        let listener = TcpListener::bind((host, upstream.port())).await;
        Self::run(listener, upstream, Way::spelling(digit), Duration::ZERO)
    }

    fn run(
        listener: io::Result<TcpListener>,
        upstream: SocketAddr,
        to_client: Way,
        patience: Duration,
    ) -> Self {
        let listener = listener.expect("cannot listen on a loopback address");
        let addr = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream),
            patience,
            to_server: Way::default(),
            to_client,
            refusing: AtomicBool::new(false),
            served: AtomicU64::new(0),
            forgotten: watch::Sender::default(),
            links: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Self { addr, shared, accepting }
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `redis://<addr>`; with a password see [`RedisServer::url_through`](crate::RedisServer::url_through).
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Stops copying in this direction and keeps every socket open, whatever the other end does:
    /// an end or a reset is not forwarded either.
    ///
    /// Data sent meanwhile arrive after [`pass`](Self::pass), as on a link that recovers.
    pub fn black_hole(&self, direction: Direction) {
        self.ways(direction).for_each(Way::close);
    }

    /// As [`black_hole`](Self::black_hole) for existing connections; new ones pass. Data of an old
    /// connection arrive after [`pass`](Self::pass), behind what new ones sent meanwhile.
    pub fn hold_back(&self, direction: Direction) {
        let next = self.shared.served.load(Ordering::SeqCst);
        self.ways(direction).for_each(|way| way.close_before(next));
    }

    /// Delays every piece by `time` in this direction.
    pub fn delay(&self, direction: Direction, time: Duration) {
        self.ways(direction).for_each(|way| way.delay(time));
    }

    /// Passes `bytes` more in this direction, over all connections, then resets the one whose next byte
    /// arrives. Happens once; afterwards bytes pass.
    ///
    /// `cut_after(Direction::ToClient, 0)` cuts between an executed command and its reply.
    pub fn cut_after(&self, direction: Direction, bytes: u64) {
        self.ways(direction).for_each(|way| way.cut_after(bytes));
    }

    /// Passes data in this direction in pieces of at most `bytes`.
    pub fn slice(&self, direction: Direction, bytes: usize) {
        self.ways(direction).for_each(|way| way.slice(bytes));
    }

    /// Ends this direction of existing connections in an orderly way, and leaves the other open. Later
    /// data in this direction are not forwarded.
    pub fn half_close(&self, direction: Direction) {
        self.ways(direction).for_each(Way::half_close);
    }

    /// Leaves existing connections half open: the server's end is reset, the client's end stays and
    /// receives nothing more, as behind a firewall that has dropped its state. New connections work.
    pub fn forget(&self) {
        self.shared.forgotten.send_modify(|count| *count += 1);
    }

    /// Resets new connections at once; existing ones go on.
    pub fn refuse(&self) {
        self.shared.refusing.store(true, Ordering::SeqCst);
    }

    /// Connects new connections to another server, as after a name has moved; existing ones stay.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *self.shared.upstream() = upstream;
    }

    /// Ends all faults: data held back are forwarded, new connections work.
    pub fn pass(&self) {
        self.shared.refusing.store(false, Ordering::SeqCst);
        self.ways(Direction::Both).for_each(Way::pass);
    }

    /// Resets every connection, at both ends. On return they are gone.
    pub async fn cut(&self) {
        let mut links = mem::take(&mut *self.shared.links());
        links.shutdown().await;
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        let mut links = self.shared.links();
        while links.try_join_next().is_some() {}
        links.len()
    }

    /// Returns the number of bytes that clients have sent to the server, over all connections.
    pub fn sent(&self) -> u64 {
        self.shared.to_server.passed()
    }

    fn ways(&self, direction: Direction) -> impl Iterator<Item = &Way> {
        let to_server = (direction != Direction::ToClient).then_some(&self.shared.to_server);
        let to_client = (direction != Direction::ToServer).then_some(&self.shared.to_client);
        to_server.into_iter().chain(to_client)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.links().abort_all();
    }
}

impl Shared {
    fn upstream(&self) -> MutexGuard<'_, SocketAddr> {
        self.upstream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        // A `Socket` that is dropped before its orderly end is reset.
        let client = Socket::from(client);
        if !shared.refusing.load(Ordering::SeqCst) {
            let served = serve(client, shared.clone());
            shared.links().spawn(served);
        }
    }
}

async fn connect(upstream: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    const PAUSE: Duration = Duration::from_millis(20);
    let end = Instant::now() + patience;
    loop {
        match TcpStream::connect(upstream).await {
            Err(_) if Instant::now() < end => sleep(PAUSE).await,
            connected => return connected,
        }
    }
}

async fn serve(mut client: Socket, shared: Arc<Shared>) {
    let mut forgotten = shared.forgotten.subscribe();
    let number = *forgotten.borrow_and_update();
    let connection = shared.served.fetch_add(1, Ordering::SeqCst);
    // A new connection is a message to the server, so a black hole holds it back too.
    shared.to_server.opened(connection).await;
    let upstream = *shared.upstream();
    let Ok(server) = connect(upstream, shared.patience).await else {
        return;
    };
    let mut server = Socket::from(server);
    let forgotten = async { forgotten.wait_for(|count| *count > number).await.is_ok() };
    let forgotten = tokio::select! {
        () = link(connection, &mut client, &mut server, &shared.to_server, &shared.to_client) => false,
        forgotten = forgotten => forgotten,
    };
    if forgotten {
        drop(server);
        client.swallow().await;
    }
}
