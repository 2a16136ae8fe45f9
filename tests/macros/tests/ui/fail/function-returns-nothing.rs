use lock_tower::distributed_lock;

#[distributed_lock(key = "order", client = locks)]
async fn update(locks: &lock_tower::LockClient) {}

fn main() {}
