use lock_tower::distributed_lock;

#[distributed_lock(key = "order", renew)]
async fn update() {}

fn main() {}
