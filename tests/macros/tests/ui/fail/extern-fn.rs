use lock_tower::distributed_lock;

#[distributed_lock(key = "order")]
async extern "C" fn update() {}

fn main() {}
