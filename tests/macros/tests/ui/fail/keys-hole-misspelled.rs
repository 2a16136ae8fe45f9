use lock_tower::distributed_lock;

struct Path<T>(T);

#[distributed_lock(keys = ["account:{from}", "account:{ot}"])]
async fn transfer(Path((from, to)): Path<(u64, u64)>) {}

fn main() {}
