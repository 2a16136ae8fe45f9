use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{{}}")]
async fn update() {}

fn main() {}
