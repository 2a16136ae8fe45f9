use lock_tower::distributed_lock;

#[distributed_lock(all(read("a:{id}"), write("a:{id}")))]
async fn export(tenant: String, id: u64) {}

fn main() {}
