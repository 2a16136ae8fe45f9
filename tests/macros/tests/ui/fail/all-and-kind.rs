use lock_tower::distributed_lock;

#[distributed_lock(all(write("b")), kind = "fair")]
async fn export(tenant: String, id: u64) {}

fn main() {}
