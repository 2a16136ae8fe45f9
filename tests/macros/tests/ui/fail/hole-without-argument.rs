use lock_tower::distributed_lock;

struct Path<T>(T);
struct Json<T>(T);

#[distributed_lock(key = "order:{path.id}")]
async fn update(Path(number): Path<u64>, Json(body): Json<String>) {}

fn main() {}
