//! What happens to an ensemble of ZooKeeper: rows 39 to 46.

use std::time::Duration;

use lock_tests::ZooKeeperEnsemble;
use tokio::time::sleep;

use super::servers::Injected;
use crate::{
    deployment::{Deployment, ZooKeeper},
    schedule::Planned,
};

/// Injects a fault, lets it last, and heals it; the caller waits until the ensemble is whole.
pub(super) async fn inject(deployment: &mut Deployment, planned: &Planned) -> Injected {
    let Deployment::ZooKeeper(zookeeper) = deployment else {
        return Err("there is no ensemble".to_owned());
    };
    let found = zookeeper.leader_and_followers().await;
    let (leader, followers) = found.ok_or("the ensemble has no leader")?;
    let follower = *followers.first().ok_or("the leader has no follower")?;
    // Either of them in a row with two ways.
    let member = if planned.variant == 0 { leader } else { follower };
    match planned.row {
        39 => kill(zookeeper, &[member], planned).await,
        40 => {
            zookeeper.ensemble.member(member).pause();
            sleep(planned.lasts).await;
            zookeeper.ensemble.member(member).resume();
        }
        41 => {
            zookeeper.ensemble.cut_off(member);
            sleep(planned.lasts).await;
            zookeeper.ensemble.connect(member);
        }
        42 => shut_doors(zookeeper, follower, planned).await,
        43 => {
            for at in 0..ZooKeeperEnsemble::MEMBERS {
                zookeeper.disconnect(at).await;
            }
        }
        44 => return delete_what_is_held(zookeeper, planned).await,
        45 => kill(zookeeper, &[leader, follower], planned).await,
        46 => {
            zookeeper.disk.by(Duration::from_millis(20 + planned.amount % 280));
            sleep(planned.lasts).await;
            zookeeper.disk.by(Duration::ZERO);
        }
        row => return Err(format!("row {row} is not injected")),
    }
    Ok(())
}

async fn kill(zookeeper: &mut ZooKeeper, members: &[usize], planned: &Planned) {
    for at in members {
        zookeeper.ensemble.member(*at).kill();
    }
    sleep(planned.lasts).await;
    for at in members {
        zookeeper.ensemble.member_mut(*at).start_again().await;
    }
}

/// A follower's clients reach it no more, or no client reaches any member.
async fn shut_doors(zookeeper: &ZooKeeper, follower: usize, planned: &Planned) {
    let all = 0..ZooKeeperEnsemble::MEMBERS;
    let shut: Vec<usize> = if planned.variant == 0 { vec![follower] } else { all.collect() };
    shut.iter().for_each(|at| zookeeper.shut(*at));
    sleep(planned.lasts).await;
    shut.iter().for_each(|at| zookeeper.open(*at));
}

/// An operator deletes some of what stands under the locks' paths, holders and waiters alike.
async fn delete_what_is_held(zookeeper: &ZooKeeper, planned: &Planned) -> Injected {
    let mut paths = zookeeper.ephemerals().await.ok_or("the leader does not answer")?;
    let mut random = fastrand::Rng::with_seed(planned.amount);
    random.shuffle(&mut paths);
    let operator = zookeeper.ensemble.znodes().await;
    let mut deleted = 0;
    for path in paths.iter().take(8) {
        deleted += u8::from(operator.delete(path).await);
    }
    if deleted == 0 { Err("there was nothing".to_owned()) } else { Ok(()) }
}
