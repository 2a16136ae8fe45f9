use lock_tower::distributed_lock;

#[distributed_lock(mode = "write")]
async fn update() {}

fn main() {}
