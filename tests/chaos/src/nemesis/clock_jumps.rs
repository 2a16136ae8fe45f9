//! Redis' wall clock jumps by an hour and back: rows 24 and 25.

use std::time::Duration;

use tokio::time::sleep;

use super::{Nemesis, servers::Injected};
use crate::{deployment::Deployment, schedule::Planned};

const HOUR: i64 = 60 * 60;
/// After the last jump every worker must have had time to release or renew what it has: only then
/// is nothing left that a death would leave for an hour.
const SETTLED: Duration = Duration::from_secs(3);

pub(super) async fn jump(
    nemesis: &Nemesis,
    deployment: &Deployment,
    planned: &Planned,
) -> Injected {
    let Deployment::Standalone { clock, .. } = deployment else {
        return Err("only the single server's clock can be moved".to_owned());
    };
    let _alone = nemesis.quiet.write().await;
    clock.by(if planned.row == 24 { HOUR } else { -HOUR });
    sleep(planned.lasts).await;
    clock.by(0);
    sleep(SETTLED).await;
    Ok(())
}
