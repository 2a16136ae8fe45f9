use lock_tower::distributed_lock;

#[distributed_lock(key = "order", name = " ")]
async fn update() {}

fn main() {}
