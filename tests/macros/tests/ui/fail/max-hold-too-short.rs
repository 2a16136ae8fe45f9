use lock_tower::distributed_lock;

#[distributed_lock(key = "order", max_hold = "99ms")]
async fn update() {}

fn main() {}
