use lock_tower::distributed_lock;

#[distributed_lock(key = "order:{id}", lese = "30s")]
async fn update(id: u64) {}

fn main() {}
