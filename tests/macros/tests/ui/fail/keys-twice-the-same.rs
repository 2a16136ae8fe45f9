use lock_tower::distributed_lock;

struct Path<T>(T);

#[distributed_lock(keys = ["account:{from}", "ledger", "account:{from}"])]
async fn transfer(Path(from): Path<u64>) {}

fn main() {}
