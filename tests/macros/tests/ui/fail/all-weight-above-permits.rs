use lock_tower::distributed_lock;

#[distributed_lock(all(semaphore("exports", permits = 2, weight = 3)))]
async fn export(tenant: String, id: u64) {}

fn main() {}
