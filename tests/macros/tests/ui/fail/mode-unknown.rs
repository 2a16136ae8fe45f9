use lock_tower::distributed_lock;

#[distributed_lock(key = "order", mode = "wirte")]
async fn update() {}

fn main() {}
