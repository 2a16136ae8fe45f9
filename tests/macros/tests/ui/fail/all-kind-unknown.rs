use lock_tower::distributed_lock;

#[distributed_lock(all(semaphor("exports", permits = 8)))]
async fn export(tenant: String, id: u64) {}

fn main() {}
