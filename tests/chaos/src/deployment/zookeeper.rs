//! An ensemble of three: how its clients reach it, whether it is whole, and what is in it.

use std::{net::SocketAddr, time::Duration};

use lock_tests::{Direction, Proxy, SlowDisk, ZooKeeperEnsemble, ZooKeeperMode, ZooKeeperServer};

/// The lease of all workers' locks: three fifths of their sessions' timeout.
pub(crate) const SESSION_LEASE: Duration = Duration::from_millis(1_200);
/// For how long the ensemble keeps the locks of a session from which it hears nothing: the timeout, and
/// a tick, to which it rounds up; a follower reports what it received every half tick.
pub(crate) const KEPT: Duration = Duration::from_millis(2_000 + 200 + 100);

/// Containers that are empty are deleted this often, so that locks meet it.
const CONTAINER_CHECK_MS: &str = "500";

/// Three members, each with a door that all its clients pass.
pub(crate) struct ZooKeeper {
    pub(crate) ensemble: ZooKeeperEnsemble,
    doors: Vec<Proxy>,
    pub(crate) disk: SlowDisk,
}

impl ZooKeeper {
    pub(super) async fn start() -> Self {
        let disk = SlowDisk::new();
        let settings = disk.of(ZooKeeperServer::builder());
        let settings = settings.property("znode.container.checkIntervalMs", CONTAINER_CHECK_MS);
        let ensemble = ZooKeeperEnsemble::start_with(settings).await;
        let doors = ensemble.proxies().await;
        Self { ensemble, doors, disk }
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.doors.iter().map(Proxy::addr).collect()
    }

    /// Through the proxies that stand at this digit's address before the doors.
    pub(super) fn url(&self, digit: u8) -> String {
        let ports = self.doors.iter().map(|door| format!("127.0.{digit}.1:{}", door.addr().port()));
        format!("zookeeper://{}", ports.collect::<Vec<_>>().join(","))
    }

    /// Cuts a member off from all clients; no connection ends.
    pub(crate) fn shut(&self, member: usize) {
        self.doors[member].black_hole(Direction::Both);
    }

    pub(crate) fn open(&self, member: usize) {
        self.doors[member].pass();
    }

    /// Resets all connections of clients with a member.
    pub(crate) async fn disconnect(&self, member: usize) {
        self.doors[member].cut().await;
    }

    /// The member that leads, and those that follow it.
    pub(crate) async fn leader_and_followers(&self) -> Option<(usize, Vec<usize>)> {
        let (mut leader, mut followers) = (None, Vec::new());
        for (at, member) in self.ensemble.members().iter().enumerate() {
            match member.mode().await {
                Some(ZooKeeperMode::Leader) => leader = Some(at),
                Some(ZooKeeperMode::Follower) => followers.push(at),
                _ => {}
            }
        }
        Some((leader?, followers))
    }

    pub(super) async fn is_whole(&self) -> bool {
        let found = self.leader_and_followers().await;
        found.is_some_and(|(_, followers)| followers.len() == ZooKeeperEnsemble::MEMBERS - 1)
    }

    /// The paths of everything that ends with a session, as the leader knows them.
    pub(crate) async fn ephemerals(&self) -> Option<Vec<String>> {
        let (leader, _) = self.leader_and_followers().await?;
        let dump = self.ensemble.member(leader).four_letter_word("dump").await?;
        Some(dump.lines().filter_map(ephemeral).map(str::to_owned).collect())
    }
}

/// The path in a line of `dump`, in which sessions and times stand too.
fn ephemeral(line: &str) -> Option<&str> {
    line.strip_prefix('\t').filter(|path| path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_what_else_a_dump_has() {
        let dump = "SessionTracker dump:\nGlobal Sessions(1):\n0x1\t2000ms\n\
                    ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x1:\n\
                    \t/lock/fair:0/_c_1-lock-0000000000\nConnections dump:\n";
        let found: Vec<_> = dump.lines().filter_map(ephemeral).collect();
        assert_eq!(found, ["/lock/fair:0/_c_1-lock-0000000000"]);
    }
}
