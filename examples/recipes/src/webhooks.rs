//! A webhook that its sender repeats: each event is handled once.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{Json, Router, extract::State, routing::post};
use http::StatusCode;
use lock_tower::{LockClient, RequestScopeLayer, distributed_lock};
use serde::Deserialize;

/// An event of a payment provider. Its id is the same in every repetition.
#[derive(Debug, Deserialize)]
pub struct Event {
    id: String,
    cents: u64,
}

/// The events that were handled: in a service a table whose primary key is the event's id.
#[derive(Debug, Clone, Default)]
pub struct Handled(Arc<Mutex<Vec<Event>>>);

impl Handled {
    async fn has(&self, id: &str) -> bool {
        let handled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handled.iter().any(|event| event.id == id)
    }

    /// In a service: in the transaction that books the payment, so that both are written or none.
    async fn book(&self, event: Event) {
        tokio::task::yield_now().await;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Returns the sum of all payments.
    pub fn cents(&self) -> u64 {
        let handled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handled.iter().map(|event| event.cents).sum()
    }
}

/// Two deliveries of one event at the same time come one after the other, and the second finds the first's
/// record. The sender gets 200 for both: any other answer makes it send the event again.
#[distributed_lock(key = "webhook:{event.id}", wait = "5s")]
pub async fn webhook(State(handled): State<Handled>, Json(event): Json<Event>) -> StatusCode {
    if !handled.has(&event.id).await {
        handled.book(event).await;
    }
    StatusCode::OK
}

/// The service.
pub fn router(locks: LockClient, handled: Handled) -> Router {
    Router::new()
        .route("/webhook", post(webhook))
        .layer(RequestScopeLayer::new(locks))
        .with_state(handled)
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use http::{Request, header::CONTENT_TYPE};

    use super::*;
    use crate::testing::send;

    #[tokio::test]
    async fn an_event_that_is_sent_ten_times_is_booked_once() {
        let handled = Handled::default();
        let app = router(LockClient::in_memory(), handled.clone());
        let deliver = || {
            let request = Request::post("/webhook").header(CONTENT_TYPE, "application/json");
            send(&app, request, r#"{ "id": "evt_7", "cents": 100 }"#)
        };
        for answer in join_all((0..10).map(|_| deliver())).await {
            assert_eq!(answer.status, 200);
        }
        assert_eq!(handled.cents(), 100);
    }
}
