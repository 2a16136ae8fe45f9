use lock_tower::distributed_lock;

#[distributed_lock(key = "order", kind = Kind::Fair)]
async fn update() {}

fn main() {}
