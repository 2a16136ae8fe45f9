use lock_tower::distributed_lock;

#[distributed_lock(all = [write("a")])]
async fn export(tenant: String, id: u64) {}

fn main() {}
