use lock_tower::distributed_lock;

#[distributed_lock(all(semaphore("b", permits = 2)), permits = 3)]
async fn export(tenant: String, id: u64) {}

fn main() {}
