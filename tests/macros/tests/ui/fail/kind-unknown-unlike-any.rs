use lock_tower::distributed_lock;

#[distributed_lock(key = "order", kind = "rw")]
async fn update() {}

fn main() {}
