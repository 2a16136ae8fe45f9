use lock_tower::distributed_lock;

#[distributed_lock(key = "printers", kind = "semaphore", permits = 3, weight = 4)]
async fn print() {}

fn main() {}
