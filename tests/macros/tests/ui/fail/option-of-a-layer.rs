use lock_tower::distributed_lock;

#[distributed_lock(key = "order", on_disconnect = "finish")]
async fn update() {}

fn main() {}
