//! The address of a server.

use std::{fmt, path::PathBuf};

/// A port of a host, or the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl Endpoint {
    /// Parses `host:port` as Redis writes it; a missing host is that of the node that was queried.
    pub(crate) fn parse(text: &str, from: &Endpoint) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self::announced(host, port.parse().ok()?, from))
    }

    /// An address that a node reports for another node. A node that does not know the host means
    /// its own.
    pub(crate) fn announced(host: &str, port: u16, from: &Endpoint) -> Self {
        match from {
            Self::Tcp(known, _) if host.is_empty() || host == "?" => Self::Tcp(known.clone(), port),
            _ => Self::Tcp(host.to_owned(), port),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
