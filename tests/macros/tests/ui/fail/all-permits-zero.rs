use lock_tower::distributed_lock;

#[distributed_lock(all(semaphore("exports", permits = 0)))]
async fn export(tenant: String, id: u64) {}

fn main() {}
