//! The leader is killed, again and again, under load.

use std::time::Duration;

use lock_tests::ZooKeeperEnsemble;

use crate::deployments::zookeeper::crowd::Crowd;

/// More than there are members, so one that was killed leads again.
const KILLS: usize = 5;

/// About as long as an election: some sessions live through it, and some do not.
const LEASE: Duration = Duration::from_millis(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_killed_five_times_grants_nothing_twice_and_service_goes_on() {
    let mut ensemble = ZooKeeperEnsemble::start().await;
    let crowd = Crowd::start(&ensemble.url(), LEASE).await;
    crowd.goes_on().await;
    for _ in 0..KILLS {
        let leader = ensemble.leader().await;
        ensemble.member(leader).kill();
        // Two members are left.
        crowd.goes_on().await;
        ensemble.member_mut(leader).restart().await;
        crowd.goes_on().await;
    }
    let report = crowd.stop().await;
    println!("{} grants, {} losses", report.grants, report.losses);
    assert_eq!(report.wrongs, [""; 0], "{} grants", report.grants);
    assert_eq!(ensemble.znodes().await.ephemerals("/lock").await, [""; 0]);
}

/// As above with a leader that stands still, and comes back with what it was sent before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stands_still_grants_nothing_when_it_comes_back() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let crowd = Crowd::start(&ensemble.url(), LEASE).await;
    crowd.goes_on().await;
    for _ in 0..3 {
        let leader = ensemble.leader().await;
        ensemble.member(leader).pause();
        assert_ne!(ensemble.leader().await, leader);
        crowd.goes_on().await;
        ensemble.member(leader).resume();
        crowd.goes_on().await;
    }
    let report = crowd.stop().await;
    println!("{} grants, {} losses", report.grants, report.losses);
    assert_eq!(report.wrongs, [""; 0], "{} grants", report.grants);
    assert_eq!(ensemble.znodes().await.ephemerals("/lock").await, [""; 0]);
}
