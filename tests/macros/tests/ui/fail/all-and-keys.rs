use lock_tower::distributed_lock;

#[distributed_lock(keys = ["a"], all(write("b")))]
async fn export(tenant: String, id: u64) {}

fn main() {}
