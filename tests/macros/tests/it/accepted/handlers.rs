//! Handlers of every shape, as Axum takes them.
#![deny(warnings)]

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use lock_tower::distributed_lock;
use serde::Deserialize;

#[derive(Clone)]
struct App;

#[derive(Deserialize)]
struct Order {
    order_id: u64,
    customer: Customer,
}

#[derive(Deserialize)]
struct Customer {
    tenant: String,
    r#type: (u8, u8),
}

struct Refused;

impl IntoResponse for Refused {
    fn into_response(self) -> axum::response::Response {
        StatusCode::CONFLICT.into_response()
    }
}

impl From<std::num::ParseIntError> for Refused {
    fn from(_: std::num::ParseIntError) -> Self {
        Self
    }
}

/// Documentation and other attributes stay.
#[distributed_lock(key = "order:{id}")]
#[allow(clippy::unused_async)]
async fn nothing_returned(Path(id): Path<u64>) {}

#[distributed_lock(key = "order:{id}")]
async fn question_mark_and_return(Path(id): Path<String>) -> Result<String, Refused> {
    let number: u64 = id.parse()?;
    if number == 0 {
        return Err(Refused);
    }
    Ok(id)
}

#[distributed_lock(key = "order:{id}")]
async fn every_way_out_is_a_return(Path(id): Path<u64>) -> StatusCode {
    if id == 7 {
        return StatusCode::OK;
    }
    return StatusCode::NOT_FOUND;
}

#[distributed_lock(key = "order:{id}")]
async fn impl_trait(Path(id): Path<u64>) -> impl IntoResponse {
    (StatusCode::OK, id.to_string())
}

#[distributed_lock(key = "order:{id}")]
async fn impl_trait_or_error(Path(id): Path<String>) -> Result<impl IntoResponse, Refused> {
    let id: u64 = id.parse()?;
    Ok(id.to_string())
}

#[distributed_lock(key = "{a}:{b}")]
async fn tuple(Path((a, b)): Path<(u64, String)>) -> String {
    drop((a, b));
    String::new()
}

#[distributed_lock(
    key = "order:{{{body.order_id:u64}}}:{body.customer.tenant:lower}:{body.customer.type.0}",
    mode = "read",
    wait = "0s",
    lease = "100ms",
    max_hold = "1h",
    renew = false,
    name = "order-read"
)]
async fn fields(State(_app): State<App>, Json(body): Json<Order>) -> StatusCode {
    let Order { customer, .. } = body;
    drop(customer);
    StatusCode::OK
}

#[distributed_lock(key = "order:{body.order_id}")]
async fn through_the_extractor(body: Json<Order>) -> StatusCode {
    drop(body);
    StatusCode::OK
}

#[distributed_lock(key = "order:{order_id}:{tenant}")]
async fn struct_pattern(
    Query(Order { order_id, customer: Customer { tenant, .. } }): Query<Order>,
) -> StatusCode {
    drop((order_id, tenant));
    StatusCode::OK
}

#[distributed_lock(key = "reports")]
async fn no_argument() -> &'static str {
    "done"
}

#[distributed_lock(key = "reports")]
async fn only_state(State(_app): State<App>) {}

#[distributed_lock(key = "text:{text}")]
async fn changed(mut text: String) -> String {
    text.push('!');
    text
}

#[distributed_lock(key = "type:{type}")]
async fn raw_name(Path(r#type): Path<String>) -> String {
    r#type
}

#[distributed_lock(key = "order:{id}")]
async fn generic<T>(Path(id): Path<u64>, Json(body): Json<T>) -> Json<T>
where
    T: serde::Serialize + Send,
{
    let _ = id;
    Json(body)
}

#[distributed_lock(key = "order:{id}")]
async fn inner_attribute(Path(id): Path<u64>) -> StatusCode {
    #![allow(unused_variables)]
    let unused = id;
    StatusCode::OK
}

mod elsewhere {
    pub(crate) use lock_tower as locks;
}

#[distributed_lock(key = "order:{id}", crate = crate::accepted::handlers::elsewhere::locks)]
async fn library_by_another_path(Path(id): Path<u64>) -> String {
    id.to_string()
}

#[test]
fn all_compile() {
    let _: Router<App> = Router::new()
        .route("/1/{id}", get(nothing_returned))
        .route("/2/{id}", get(question_mark_and_return))
        .route("/3/{id}", get(every_way_out_is_a_return))
        .route("/4/{id}", get(impl_trait))
        .route("/5/{id}", get(impl_trait_or_error))
        .route("/6/{a}/{b}", get(tuple))
        .route("/7", post(fields))
        .route("/8", post(through_the_extractor))
        .route("/9", get(struct_pattern))
        .route("/10", get(no_argument))
        .route("/11", get(only_state))
        .route("/12", post(changed))
        .route("/13/{type}", get(raw_name))
        .route("/14/{id}", post(generic::<String>))
        .route("/15/{id}", get(inner_attribute))
        .route("/16/{id}", get(library_by_another_path));
}
