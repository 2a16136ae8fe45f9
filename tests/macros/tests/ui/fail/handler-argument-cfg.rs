use lock_tower::distributed_lock;

struct Path<T>(T);

#[distributed_lock(key = "order")]
async fn update(#[cfg(debug_assertions)] Path(id): Path<u64>) {}

fn main() {}
