use http::Method;
use utoipa::openapi::{OpenApi, PathItem, path::Operation};

use super::{
    Policies,
    coverage::{Route, rules},
};
use crate::outcome::openapi;

impl Policies {
    /// Adds the answers of the rules in force to the operations of an OpenAPI document: to each
    /// those of the rules that its requests may match, with the statuses and texts that they have.
    ///
    /// The paths of the document are compared with those of the rules, so they have to be written
    /// as in the router. A document that was made before a reload has the answers of then.
    pub fn add_responses(&self, document: &mut OpenApi) {
        let version = self.current();
        let has_header = version.file.request().header.is_some();
        for (path, item) in &mut document.paths.paths {
            for (method, operation) in operations(item) {
                let route = Route::new(path.clone(), [method.clone()]);
                let rules = rules(&version, &route, Some(&method));
                let locks = rules.iter().map(|(rule, _)| &rule.lock);
                openapi::add(
                    operation,
                    locks.flat_map(|lock| lock.rejections(&method, has_header)),
                );
            }
        }
    }
}

/// Returns the operations of a path that are defined, each with its method.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    [
        (Method::GET, &mut item.get),
        (Method::PUT, &mut item.put),
        (Method::POST, &mut item.post),
        (Method::DELETE, &mut item.delete),
        (Method::OPTIONS, &mut item.options),
        (Method::HEAD, &mut item.head),
        (Method::PATCH, &mut item.patch),
        (Method::TRACE, &mut item.trace),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}
