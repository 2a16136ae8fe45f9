use lock_tower::distributed_lock;

#[distributed_lock(key = "order", mode = "read", kind = "fair")]
async fn show() {}

fn main() {}
