use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{email:lower|hash}")]
async fn update(email: String) {}

fn main() {}
