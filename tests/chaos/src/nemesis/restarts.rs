//! One server dies and comes back, with what it had on its disk or without: rows 10 and 11.

use super::servers::Injected;
use crate::deployment::Deployment;

pub(super) async fn without_data(deployment: &mut Deployment) -> Injected {
    deployment.server_mut(0).restart_empty().await;
    Ok(())
}

pub(super) async fn with_data(deployment: &mut Deployment) -> Injected {
    deployment.server_mut(0).restart().await;
    Ok(())
}
