use lock_tower::distributed_lock;

#[distributed_lock(key = "printers", kind = "fair", weight = 3)]
async fn print() {}

fn main() {}
