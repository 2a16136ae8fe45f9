use lock_tower::distributed_lock;

#[distributed_lock(key = "order", renew = "false")]
async fn update() {}

fn main() {}
