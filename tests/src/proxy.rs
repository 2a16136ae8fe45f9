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

use link::{Socket, link};
use way::Way;

/// Which bytes a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server: commands.
    ToServer,
    /// From the server to the client: replies and messages.
    ToClient,
    /// Both ways.
    Both,
}

/// Copies bytes between its clients and one server, until told to misbehave.
///
/// Faults hold for present and future connections, until [`pass`](Self::pass). Dropping the proxy
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
    to_server: Way,
    to_client: Way,
    refusing: AtomicBool,
    /// How many connections there were: each has the number of those before it.
    served: AtomicU64,
    /// Connections with a smaller number lead nowhere any more.
    forgotten: watch::Sender<u64>,
    links: Mutex<JoinSet<()>>,
}

impl Proxy {
    /// A link to `upstream` that passes everything, on a port of its own on 127.0.0.1.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, crate::free_port())).await;
        Self::run(listener, upstream, Way::default())
    }

    /// A link to `upstream`, a server on 127.0.0.1, at `127.0.<digit>.1` and the server's own port.
    ///
    /// Wherever a reply names 127.0.0.1, the client reads `127.0.<digit>.1`: a node that is
    /// announced by Sentinels or by other nodes of a cluster is reached through the proxy of the
    /// same digit that stands before it. Linux has all these addresses; elsewhere they must be
    /// given to the loopback interface first.
    pub async fn in_front_of(upstream: SocketAddr, digit: u8) -> Self {
        assert!((1..=9).contains(&digit), "one digit, or replies would change their length");
        let host = Ipv4Addr::new(127, 0, digit, 1);
        let listener = TcpListener::bind((host, upstream.port())).await;
        Self::run(listener, upstream, Way::spelling(digit))
    }

    fn run(listener: io::Result<TcpListener>, upstream: SocketAddr, to_client: Way) -> Self {
        let listener = listener.expect("cannot listen on a loopback address");
        let addr = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream),
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

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `redis://<addr>`; with a password see [`RedisServer::url_through`](crate::RedisServer::url_through).
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Stops copying in this direction and keeps every socket open, whatever the other end does:
    /// an end or a reset is not passed on either.
    ///
    /// What was sent meanwhile arrives after [`pass`](Self::pass), as on a link that heals.
    pub fn black_hole(&self, direction: Direction) {
        self.ways(direction).for_each(Way::close);
    }

    /// As [`black_hole`](Self::black_hole) for the connections that exist; new ones pass. What an old
    /// connection sent arrives after [`pass`](Self::pass), behind what new ones sent meanwhile.
    pub fn hold_back(&self, direction: Direction) {
        let next = self.shared.served.load(Ordering::SeqCst);
        self.ways(direction).for_each(|way| way.close_before(next));
    }

    /// Holds every piece up by `time` in this direction.
    pub fn delay(&self, direction: Direction, time: Duration) {
        self.ways(direction).for_each(|way| way.delay(time));
    }

    /// Passes `bytes` more in this direction, over all connections, then resets the one whose
    /// next byte comes. Happens once; afterwards bytes pass.
    ///
    /// `cut_after(Direction::ToClient, 0)` cuts between an executed command and its reply.
    pub fn cut_after(&self, direction: Direction, bytes: u64) {
        self.ways(direction).for_each(|way| way.cut_after(bytes));
    }

    /// Passes what comes in this direction in pieces of at most `bytes`.
    pub fn slice(&self, direction: Direction, bytes: usize) {
        self.ways(direction).for_each(|way| way.slice(bytes));
    }

    /// Ends this direction of the connections that exist in an orderly way, and leaves the other
    /// open: what still comes is not passed on.
    pub fn half_close(&self, direction: Direction) {
        self.ways(direction).for_each(Way::half_close);
    }

    /// Leaves the connections that exist half open: the server's end is reset, the client's end
    /// stays and never hears anything again, as behind a firewall that has forgotten it. New
    /// connections work.
    pub fn forget(&self) {
        self.shared.forgotten.send_modify(|count| *count += 1);
    }

    /// Resets new connections at once; those that exist go on.
    pub fn refuse(&self) {
        self.shared.refusing.store(true, Ordering::SeqCst);
    }

    /// Future connections go to another server, as those by a name that has moved; those that exist
    /// stay where they are.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *self.shared.upstream() = upstream;
    }

    /// Ends all faults: what was held back flows, new connections work.
    pub fn pass(&self) {
        self.shared.refusing.store(false, Ordering::SeqCst);
        self.ways(Direction::Both).for_each(Way::pass);
    }

    /// Resets every connection, at both ends. On return they are gone.
    pub async fn cut(&self) {
        let mut links = mem::take(&mut *self.shared.links());
        links.shutdown().await;
    }

    /// How many connections there are now.
    pub fn connections(&self) -> usize {
        let mut links = self.shared.links();
        while links.try_join_next().is_some() {}
        links.len()
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
        // Dropped before its orderly end, a `Socket` resets.
        let client = Socket::from(client);
        if !shared.refusing.load(Ordering::SeqCst) {
            let served = serve(client, shared.clone());
            shared.links().spawn(served);
        }
    }
}

async fn serve(mut client: Socket, shared: Arc<Shared>) {
    let mut forgotten = shared.forgotten.subscribe();
    let number = *forgotten.borrow_and_update();
    let connection = shared.served.fetch_add(1, Ordering::SeqCst);
    // A new connection is a message to the server: a black hole holds it back too.
    shared.to_server.opened(connection).await;
    let upstream = *shared.upstream();
    let Ok(server) = TcpStream::connect(upstream).await else {
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
