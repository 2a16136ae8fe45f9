//! A primary under Sentinels: which server it is, and whether all follow it.

use lock_tests::SentinelSetup;
use redis::RedisResult;

use super::Admin;

/// The server that most Sentinels name.
pub(super) async fn primary(setup: &SentinelSetup) -> Option<usize> {
    let mut votes = vec![0; setup.servers().len()];
    for sentinel in setup.sentinels() {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelSetup::NAME];
        let named = async { Admin::to(sentinel).await?.ask::<Vec<String>>(&words).await };
        let Ok(named) = named.await else { continue };
        let port = named.last().and_then(|port| port.parse().ok());
        let at = setup.servers().iter().position(|server| Some(server.port()) == port);
        if let Some(at) = at {
            votes[at] += 1;
        }
    }
    votes.iter().position(|count| *count * 2 > setup.sentinels().len())
}

/// Whether the primary has all the others in step.
pub(super) async fn is_whole(setup: &SentinelSetup) -> bool {
    let Some(at) = primary(setup).await else { return false };
    let replicas = setup.servers().len() - 1;
    let in_step = async {
        let admin = Admin::to(&setup.servers()[at]).await?;
        let info: String = admin.ask(&["INFO", "replication"]).await?;
        RedisResult::Ok(
            info.contains("role:master") && info.matches("state=online").count() == replicas,
        )
    };
    in_step.await.unwrap_or(false)
}

pub(super) async fn follow(setup: &SentinelSetup, at: usize) -> RedisResult<()> {
    let Some(primary) = primary(setup).await.filter(|primary| *primary != at) else {
        return Ok(());
    };
    let port = setup.servers()[primary].port().to_string();
    Admin::to(&setup.servers()[at]).await?.tell(&["REPLICAOF", "127.0.0.1", &port]).await
}
