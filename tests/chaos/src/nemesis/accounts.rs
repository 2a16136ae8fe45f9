//! The user may not do what it could, or is another: rows 21, 22 and 23.

use tokio::time::sleep;

use super::servers::{Injected, because, insist};
use crate::{
    deployment::{Deployment, RIGHTS},
    schedule::Planned,
};

const COMMANDS: [&str; 6] = ["-pexpire", "-hset", "-evalsha", "-time", "-hdel", "-script|load"];

async fn set(deployment: &Deployment, rights: &[&str]) -> redis::RedisResult<()> {
    let words: Vec<&str> = ["ACL", "SETUSER", "worker"].iter().chain(rights).copied().collect();
    deployment.tell_all(&words).await
}

async fn mend(deployment: &Deployment) {
    insist("the user to be as it was", || set(deployment, &RIGHTS)).await;
}

pub(super) async fn forbid_a_command(deployment: &Deployment, planned: &Planned) -> Injected {
    let command = COMMANDS[usize::try_from(planned.amount % 6).map_err(because)?];
    let done = set(deployment, &[command]).await;
    sleep(planned.lasts).await;
    mend(deployment).await;
    done.map_err(because)
}

pub(super) async fn forbid_channels(deployment: &Deployment, planned: &Planned) -> Injected {
    let done = set(deployment, &["resetchannels"]).await;
    sleep(planned.lasts).await;
    mend(deployment).await;
    done.map_err(because)
}

pub(super) async fn change_the_user(deployment: &Deployment, planned: &Planned) -> Injected {
    let done = match planned.amount % 3 {
        0 => deployment.tell_all(&["ACL", "DELUSER", "worker"]).await,
        // Logged-in connections stay until they reconnect.
        1 => match set(deployment, &["resetpass", ">another"]).await {
            Ok(()) => deployment.tell_all(&["CLIENT", "KILL", "USER", "worker"]).await,
            refused => refused,
        },
        _ => match set(deployment, &["off"]).await {
            Ok(()) => deployment.tell_all(&["CLIENT", "KILL", "USER", "worker"]).await,
            refused => refused,
        },
    };
    sleep(planned.lasts).await;
    mend(deployment).await;
    done.map_err(because)
}
