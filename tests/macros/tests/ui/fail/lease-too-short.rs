use lock_tower::distributed_lock;

#[distributed_lock(key = "order", lease = "99ms")]
async fn update() {}

fn main() {}
