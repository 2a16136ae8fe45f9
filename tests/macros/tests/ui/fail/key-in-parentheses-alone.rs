use lock_tower::distributed_lock;

#[distributed_lock("order:{id}")]
async fn update(id: u64) {}

fn main() {}
