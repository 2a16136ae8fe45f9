use lock_tower::distributed_lock;

#[distributed_lock(key = "order", wait = "9000h")]
async fn update() {}

fn main() {}
