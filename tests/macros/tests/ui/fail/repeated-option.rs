use lock_tower::distributed_lock;

#[distributed_lock(key = "order", wait = "1s", mode = "read", wait = "2s")]
async fn update() {}

fn main() {}
