use lock_tower::distributed_lock;

#[distributed_lock(key = "printers", kind = "semaphore", permits = 5000000000)]
async fn print() {}

fn main() {}
