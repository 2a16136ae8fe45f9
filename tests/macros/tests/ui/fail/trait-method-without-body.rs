use lock_tower::distributed_lock;

trait Orders {
    #[distributed_lock(key = "order", client = self.locks())]
    async fn update(&self) -> Result<(), lock_tower::LockError>;
}

fn main() {}
