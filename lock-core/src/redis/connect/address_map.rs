//! Where addresses are reached that servers announce.

use std::{fmt, sync::Arc};

use super::endpoint::Endpoint;

type Map = dyn Fn(&str, u16) -> (String, u16) + Send + Sync;

/// By default each is reached where it is announced.
#[derive(Clone, Default)]
pub(crate) struct AddressMap(Option<Arc<Map>>);

impl AddressMap {
    pub(crate) fn new(map: impl Fn(&str, u16) -> (String, u16) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(map)))
    }

    pub(super) fn reached(&self, announced: Endpoint) -> Endpoint {
        match (&self.0, announced) {
            (Some(map), Endpoint::Tcp(host, port)) => {
                let (host, port) = map(&host, port);
                Endpoint::Tcp(host, port)
            }
            (_, announced) => announced,
        }
    }

    #[cfg(feature = "zookeeper")]
    pub(super) fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for AddressMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressMap(..)")
    }
}
