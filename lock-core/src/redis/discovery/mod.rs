//! Service discovery: which server a connection is for, fixed or found at each connect.

mod sentinel;

use std::{fmt, future, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};

use crate::redis::connect::{ConnectError, Server};
pub(crate) use sentinel::Sentinels;

/// Finds the server that a connection is for.
pub(crate) trait Discovery: fmt::Debug + fmt::Display + Send + Sync {
    /// Returns the current server.
    fn find(&self) -> BoxFuture<'_, Result<Arc<Server>, ConnectError>>;

    /// Returns when another server has taken the place of `server`; never, by default.
    fn superseded<'a>(&'a self, _target: &'a Server) -> BoxFuture<'a, ()> {
        future::pending().boxed()
    }
}

/// One server, known from the start.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Arc<Server>);

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.address.fmt(f)
    }
}

impl Discovery for Fixed {
    fn find(&self) -> BoxFuture<'_, Result<Arc<Server>, ConnectError>> {
        future::ready(Ok(Arc::clone(&self.0))).boxed()
    }
}
