use http::Method;
use utoipa::openapi::path::Operation;

use super::RequestLockLayer;
use crate::outcome::openapi;

impl RequestLockLayer {
    /// Adds the answers of this layer to an operation of an OpenAPI document, which has this
    /// method: with the statuses and texts that it has, and without the outcomes that cannot happen
    /// under it.
    pub fn add_responses(&self, method: &Method, operation: &mut Operation) {
        let has_header = self.lock.deadline_header.is_some();
        openapi::add(operation, self.lock.rejections(method, has_header));
    }
}
