//! A ZooKeeper ensemble for one test.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;

use crate::zookeeper_server::{Member, NotReady, PORTS_TRIED};
use crate::{
    Direction, LIMIT, Proxy, Znodes, ZooKeeperMode, ZooKeeperServer, ZooKeeperServerBuilder,
    eventually, free_port,
};

/// Three servers on 127.0.0.1 that elect a leader. All are killed on drop.
#[derive(Debug)]
pub struct ZooKeeperEnsemble {
    members: Vec<ZooKeeperServer>,
    links: Vec<Link>,
}

/// A member that is elected listens for its followers a moment later. They are patient when it refuses
/// them, but begin a new election when a connection ends; the elected one knows nothing of that, and
/// waits for them for all of `initLimit`: the ensemble has no leader for twenty seconds.
const JOINING: Duration = Duration::from_secs(1);

/// The way on which one member follows another.
#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    proxy: Proxy,
}

impl ZooKeeperEnsemble {
    /// The number of members.
    pub const MEMBERS: usize = 3;

    /// Starts three servers with default settings, and waits until they serve clients.
    pub async fn start() -> Self {
        Self::start_with(ZooKeeperServer::builder()).await
    }

    /// Starts three servers with these settings, and waits until they serve clients.
    pub async fn start_with(settings: ZooKeeperServerBuilder) -> Self {
        for _ in 0..PORTS_TRIED {
            match Self::launch(&settings).await {
                Ok(ensemble) => return ensemble,
                Err(NotReady::PortTaken) => {}
                Err(NotReady::Failed(why)) => panic!("the ensemble did not start: {why}"),
            }
        }
        panic!("the ensemble found no free ports");
    }

    async fn launch(settings: &ZooKeeperServerBuilder) -> Result<Self, NotReady> {
        let ports: Vec<_> = (0..Self::MEMBERS).map(|_| (free_port(), free_port())).collect();
        let (mut members, mut links) = (Vec::new(), Vec::new());
        for from in 0..Self::MEMBERS {
            let mut reached = ports.clone();
            for to in (0..Self::MEMBERS).filter(|to| *to != from) {
                let leader = SocketAddr::from((Ipv4Addr::LOCALHOST, ports[to].0));
                let proxy = Proxy::start_patient(leader, JOINING).await;
                reached[to].0 = proxy.addr().port();
                links.push(Link { from, to, proxy });
            }
            let member = Member { id: from + 1, ports: reached };
            members.push(ZooKeeperServer::spawn(settings.clone().member(member)));
        }
        let ensemble = Self { members: join_all(members).await, links };
        for member in &ensemble.members {
            member.serves().await?;
        }
        Ok(ensemble)
    }

    /// Cuts a member off from the others: it can follow none, and none can follow it. Nothing that is
    /// sent arrives, and no connection ends. Clients reach it. It votes, since elections have connections
    /// of their own: a leader that is cut off may be elected again and again, with no member to follow it.
    pub fn cut_off(&self, at: usize) {
        self.links_of(at).for_each(|link| link.proxy.black_hole(Direction::Both));
    }

    /// Connects a member with the others again.
    pub fn connect(&self, at: usize) {
        self.links_of(at).for_each(|link| link.proxy.pass());
    }

    fn links_of(&self, at: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |link| link.from == at || link.to == at)
    }

    /// `zookeeper://` with the addresses of all members.
    pub fn url(&self) -> String {
        format!("zookeeper://{}", self.connect_string())
    }

    /// The addresses of all members, as ZooKeeper's own clients want them.
    pub fn connect_string(&self) -> String {
        let members: Vec<_> = self.members.iter().map(ZooKeeperServer::connect_string).collect();
        members.join(",")
    }

    /// Starts a proxy for each member, in order.
    pub async fn proxies(&self) -> Vec<Proxy> {
        join_all(self.members.iter().map(ZooKeeperServer::proxy)).await
    }

    /// The URL of all members as seen through their [`proxies`](Self::proxies).
    pub fn url_through(&self, proxies: &[Proxy]) -> String {
        let members: Vec<_> = proxies.iter().map(|proxy| proxy.addr().to_string()).collect();
        format!("zookeeper://{}", members.join(","))
    }

    /// A member, counted from 0.
    pub fn member(&self, at: usize) -> &ZooKeeperServer {
        &self.members[at]
    }

    /// A member, to be restarted.
    pub fn member_mut(&mut self, at: usize) -> &mut ZooKeeperServer {
        &mut self.members[at]
    }

    /// All members.
    pub fn members(&self) -> &[ZooKeeperServer] {
        &self.members
    }

    /// Returns the place of the leader, as soon as there is one.
    pub async fn leader(&self) -> usize {
        let mut leader = None;
        eventually("a leader of the ensemble", 2 * LIMIT, async || {
            leader = self.in_mode(ZooKeeperMode::Leader).await.first().copied();
            leader.is_some()
        })
        .await;
        leader.expect("BUG: there is one")
    }

    /// Returns the places of the members that follow the leader at present.
    pub async fn followers(&self) -> Vec<usize> {
        self.in_mode(ZooKeeperMode::Follower).await
    }

    async fn in_mode(&self, mode: ZooKeeperMode) -> Vec<usize> {
        let modes = join_all(self.members.iter().map(ZooKeeperServer::mode)).await;
        let places = modes.into_iter().enumerate();
        places.filter(|(_, now)| *now == Some(mode)).map(|(at, _)| at).collect()
    }

    /// Opens a separate session for assertions and preparation.
    pub async fn znodes(&self) -> Znodes {
        Znodes::connect(&self.connect_string()).await
    }
}
