use lock_tower::distributed_lock;

#[distributed_lock(all(write("report:{id}"), semaphore("exports:{tenent}", permits = 2)))]
async fn export(tenant: String, id: u64) {}

fn main() {}
