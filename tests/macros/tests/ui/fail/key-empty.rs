use lock_tower::distributed_lock;

#[distributed_lock(key = "")]
async fn update() {}

fn main() {}
