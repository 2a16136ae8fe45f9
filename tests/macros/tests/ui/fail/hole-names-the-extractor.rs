use lock_tower::distributed_lock;

struct Path<T>(T);

#[distributed_lock(key = "order:{Path}")]
async fn update(Path((shop, id)): Path<(u64, u64)>) {}

fn main() {}
