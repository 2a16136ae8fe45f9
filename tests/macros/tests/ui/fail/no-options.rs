use lock_tower::distributed_lock;

#[distributed_lock]
async fn update() {}

fn main() {}
