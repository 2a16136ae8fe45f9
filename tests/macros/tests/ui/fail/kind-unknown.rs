use lock_tower::distributed_lock;

#[distributed_lock(key = "order", kind = "fenecd")]
async fn update() {}

fn main() {}
