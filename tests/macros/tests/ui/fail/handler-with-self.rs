use lock_tower::distributed_lock;

struct Orders;

impl Orders {
    #[distributed_lock(key = "order")]
    async fn update(&self) {}
}

fn main() {}
