use lock_tower::distributed_lock;

#[distributed_lock(key = "printers", kind = "semaphore")]
async fn print() {}

fn main() {}
