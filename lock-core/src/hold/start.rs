//! Starts a client: its state, and the tasks that renew and release for it.

use std::sync::Arc;

use lock_store::{LockStore, Owners, runtime::Tasks};

use super::{ClientInner, local_queues, reconcile, renewal};
use crate::{report, types::ClientConfig};

pub(crate) fn start(
    owners: Owners,
    store: Arc<dyn LockStore>,
    settings: ClientConfig,
    tasks: Arc<Tasks>,
) -> Arc<ClientInner> {
    let client = ClientInner::new(owners, store, settings, tasks);
    // The tasks share the schedule, the queue and the work log, and not the client: they would keep it
    // alive, and its drop, which ends them, would never run.
    client.tasks.spawn_task_of(&client.schedule, renewal::work);
    client.tasks.spawn_task_of(&client.queue, reconcile::work);
    let (store, ended) = (Arc::clone(&client.store), client.ended.clone());
    client.tasks.spawn_task_of(&client.work_log, move |log| {
        report::work(log, Arc::clone(&store), ended.clone())
    });
    let ended = client.ended.clone();
    client.tasks.spawn_task_of(&client.local_queues, move |queues| {
        local_queues::work(queues, ended.clone())
    });
    Arc::new(client)
}
