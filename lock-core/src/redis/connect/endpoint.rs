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

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp(host.to_owned(), port)
    }

    #[test]
    fn a_node_without_a_host_has_that_of_the_node_that_was_queried() {
        let from = tcp("queried", 1);
        for (host, expected) in [("", "queried"), ("?", "queried"), ("other", "other")] {
            assert_eq!(Endpoint::announced(host, 2, &from), tcp(expected, 2), "{host:?}");
        }
        let socket = Endpoint::Unix("/redis".into());
        assert_eq!(Endpoint::announced("other", 2, &socket), tcp("other", 2));
    }

    #[test]
    fn addresses_are_parsed_as_they_are_written() {
        let from = tcp("queried", 1);
        for text in ["h:6379", "[::1]:6379"] {
            assert_eq!(Endpoint::parse(text, &from).expect("an address").to_string(), text);
        }
        assert_eq!(Endpoint::parse(":7", &from), Some(tcp("queried", 7)));
        for text in ["", "h", "h:", "h:70000"] {
            assert_eq!(Endpoint::parse(text, &from), None, "{text:?}");
        }
    }
}
