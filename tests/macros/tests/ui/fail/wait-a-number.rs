use lock_tower::distributed_lock;

#[distributed_lock(key = "order", wait = 2)]
async fn update() {}

fn main() {}
