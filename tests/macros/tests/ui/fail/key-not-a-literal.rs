use lock_tower::distributed_lock;

const KEY: &str = "order";

#[distributed_lock(key = KEY)]
async fn update() {}

fn main() {}
