use lock_tower::distributed_lock;

struct Path<T>(T);
struct Json<T>(T);

#[distributed_lock(key = "order:{oder_id}")]
async fn update(Path(order_id): Path<u64>, Json(body): Json<String>) {}

fn main() {}
