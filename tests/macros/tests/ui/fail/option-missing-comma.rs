use lock_tower::distributed_lock;

#[distributed_lock(key = "order" wait = "1s")]
async fn update() {}

fn main() {}
