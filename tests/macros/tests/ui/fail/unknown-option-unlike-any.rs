use lock_tower::distributed_lock;

#[distributed_lock(key = "order", timeout = "30s")]
async fn update() {}

fn main() {}
