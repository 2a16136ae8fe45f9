use lock_tower::distributed_lock;

#[distributed_lock(key = "order", wait = "0")]
async fn update() {}

fn main() {}
