use lock_tower::distributed_lock;

#[distributed_lock(all(semaphore("a-{tenant}", permits = 2), write("a-{id}")))]
async fn export(tenant: String, id: u64) {}

fn main() {}
