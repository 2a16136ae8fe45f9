//! An ensemble elects a leader, and another one when the leader has gone.

use std::time::{Duration, Instant};

use lock_tests::{LIMIT, SlowDisk, Znodes, ZooKeeperEnsemble, ZooKeeperServer, eventually};

async fn all_serve(ensemble: &ZooKeeperEnsemble) {
    eventually("all members to serve", 2 * LIMIT, async || {
        ensemble.leader().await;
        ensemble.followers().await.len() == ZooKeeperEnsemble::MEMBERS - 1
    })
    .await;
}

#[tokio::test]
async fn each_member_shows_what_another_has_answered() {
    let ensemble = ZooKeeperEnsemble::start().await;
    all_serve(&ensemble).await;
    ensemble.znodes().await.create("/a", "text").await;
    for member in ensemble.members() {
        assert!(member.znodes().await.exists("/a").await);
    }
}

#[tokio::test]
async fn a_killed_leader_is_replaced_and_comes_back_as_a_follower() {
    let mut ensemble = ZooKeeperEnsemble::start().await;
    let znodes = ensemble.znodes().await;
    znodes.create("/before", "").await;
    let first = ensemble.leader().await;
    ensemble.member(first).kill();
    let second = ensemble.leader().await;
    assert_ne!(second, first);
    znodes.create("/meanwhile", "").await;
    ensemble.member_mut(first).restart().await;
    all_serve(&ensemble).await;
    assert_eq!(ensemble.leader().await, second);
    let znodes = ensemble.member(first).znodes().await;
    assert!(znodes.exists("/before").await && znodes.exists("/meanwhile").await);
}

#[tokio::test]
async fn a_paused_leader_is_replaced() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let first = ensemble.leader().await;
    ensemble.member(first).pause();
    assert_ne!(ensemble.leader().await, first);
    ensemble.member(first).resume();
    all_serve(&ensemble).await;
}

#[tokio::test]
async fn two_members_that_are_gone_leave_no_quorum_until_they_start_again() {
    let mut ensemble = ZooKeeperEnsemble::start().await;
    ensemble.znodes().await.create("/a", "").await;
    for at in [0, 1] {
        ensemble.member(at).kill();
    }
    eventually("no service", LIMIT, async || ensemble.member(2).mode().await.is_none()).await;
    for at in [0, 1] {
        ensemble.member_mut(at).start_again().await;
    }
    all_serve(&ensemble).await;
    assert!(ensemble.znodes().await.exists("/a").await);
}

#[tokio::test]
async fn a_client_changes_to_another_member_when_one_proxy_refuses() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let proxies = ensemble.proxies().await;
    let url = ensemble.url_through(&proxies);
    let znodes = Znodes::connect(url.strip_prefix("zookeeper://").unwrap()).await;
    znodes.create("/a", "").await;
    let used = proxies.iter().position(|proxy| proxy.connections() > 0).unwrap();
    proxies[used].refuse();
    proxies[used].cut().await;
    assert!(znodes.exists("/a").await);
    assert_eq!(proxies[used].connections(), 0);
}

#[tokio::test]
async fn a_follower_that_is_cut_off_takes_no_part_until_it_is_connected() {
    let ensemble = ZooKeeperEnsemble::start().await;
    all_serve(&ensemble).await;
    let (leader, cut) = (ensemble.leader().await, ensemble.followers().await[0]);
    ensemble.cut_off(cut);
    ensemble.member(leader).znodes().await.create("/a", "").await;
    eventually("it to serve no more", 2 * LIMIT, async || {
        ensemble.member(cut).mode().await.is_none()
    })
    .await;
    ensemble.connect(cut);
    all_serve(&ensemble).await;
    assert!(ensemble.member(cut).znodes().await.exists("/a").await);
}

#[tokio::test]
async fn a_slow_disk_keeps_writes_back() {
    let disk = SlowDisk::new();
    let ensemble = ZooKeeperEnsemble::start_with(disk.of(ZooKeeperServer::builder())).await;
    let znodes = ensemble.znodes().await;
    znodes.create("/a", "").await;
    let delay = Duration::from_millis(300);
    disk.by(delay);
    let begun = Instant::now();
    znodes.set_data("/a", "text").await;
    assert!(begun.elapsed() >= delay);
    disk.by(Duration::ZERO);
    assert_eq!(znodes.data("/a").await.unwrap(), b"text");
}
