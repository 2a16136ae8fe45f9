use lock_tower::distributed_lock;

#[distributed_lock(key = "order")]
fn update() {}

fn main() {}
