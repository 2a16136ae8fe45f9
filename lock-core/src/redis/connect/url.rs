//! Parses URLs: the kind of deployment, its addresses, user and password.

use lock_store::ConnectError;
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};

use super::endpoint::Endpoint;
use crate::redis::protocol::reason;

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// A parsed URL.
#[derive(Debug)]
pub(crate) struct RedisUrl {
    pub(crate) deployment: Deployment,
    /// At least one: the server, the Sentinels, or nodes of the cluster.
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) encrypted: bool,
    /// User, password and database of the Redis servers.
    pub(crate) login: RedisConnectionInfo,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Deployment {
    Single,
    /// A primary that Sentinels know by this name.
    Sentinel(String),
    Cluster,
}

impl RedisUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, ConnectError> {
        if url.contains('#') {
            return Err(invalid(
                "nothing may follow a #: certificates are always verified; a # in a password is \
                 written %23",
            ));
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("it has no scheme"))?;
        // Otherwise the rest would be taken for the path of a socket, and printed.
        if !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+') {
            return Err(invalid("its scheme is not known"));
        }
        let (redis, several) = match scheme.split_once('+') {
            Some((redis, "sentinel")) => (redis, Some(true)),
            Some((redis, "cluster")) => (redis, Some(false)),
            _ => (scheme, None),
        };
        let encrypted = matches!(redis, "rediss" | "valkeys");
        if several.is_some() && !encrypted && !matches!(redis, "redis" | "valkey") {
            return Err(invalid("its scheme is not known"));
        }
        match several {
            None if encrypted => Self::single(&format!("redis://{rest}"), true),
            None => Self::single(url, false),
            Some(sentinel) => Self::several(rest, sentinel, encrypted),
        }
    }

    fn single(url: &str, encrypted: bool) -> Result<Self, ConnectError> {
        let authority = url.split(['/', '?']).nth(2).unwrap_or_default();
        if authority.rsplit('@').next().is_some_and(|hosts| hosts.contains(',')) {
            return Err(invalid(
                "several hosts need redis+cluster://, or redis+sentinel:// if they are Sentinels",
            ));
        }
        let (endpoint, login) = read(url)?;
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let understood = |pair: &str| pair.is_empty() || pair.starts_with("protocol=");
        if matches!(endpoint, Endpoint::Tcp(..)) && !query.split('&').all(understood) {
            return Err(invalid(
                "a query is allowed only with redis+unix://; a ? in a password is written %3F",
            ));
        }
        Ok(Self { deployment: Deployment::Single, endpoints: vec![endpoint], encrypted, login })
    }

    /// `[user:password@]host[:port][,host[:port]...][/path]`
    fn several(rest: &str, sentinel: bool, encrypted: bool) -> Result<Self, ConnectError> {
        if rest.contains('?') {
            return Err(invalid("a query is not understood"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // Otherwise the part before it would be taken for a host and its port, and printed.
        if path.contains('@') {
            return Err(invalid("an @ comes after a /, which in a password is written %2F"));
        }
        let (user, hosts) =
            authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
        let (deployment, database) = if sentinel {
            let (name, database) = path.split_once('/').unwrap_or((path, ""));
            if name.is_empty() {
                return Err(invalid("the primary's name is missing: .../name[/database]"));
            }
            (Deployment::Sentinel(name.to_owned()), database)
        } else if matches!(path, "" | "0") {
            (Deployment::Cluster, "")
        } else {
            return Err(invalid("a cluster has database 0 only"));
        };
        let default = if sentinel { SENTINEL_PORT } else { REDIS_PORT };
        let user = if user.is_empty() { String::new() } else { format!("{user}@") };
        let mut login = None;
        let mut endpoints = Vec::new();
        for host in hosts.split(',').map(str::trim) {
            let host = if has_port(host) { host.to_owned() } else { format!("{host}:{default}") };
            let (endpoint, named) = read(&format!("redis://{user}{host}/{database}"))?;
            endpoints.push(endpoint);
            login = Some(named);
        }
        let login = login.ok_or_else(|| invalid("it names no host"))?;
        Ok(Self { deployment, endpoints, encrypted, login })
    }
}

fn has_port(host: &str) -> bool {
    let port = host.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(url: &str) -> Result<(Endpoint, RedisConnectionInfo), ConnectError> {
    let info = url.into_connection_info().map_err(|error| {
        // The error kind that the redis crate appends does not help the user.
        let reason = reason(&error);
        invalid(reason.trim_end_matches(" - InvalidClientConfig"))
    })?;
    let endpoint = match info.addr() {
        ConnectionAddr::Tcp(host, port) => Endpoint::Tcp(host.clone(), *port),
        ConnectionAddr::Unix(path) => Endpoint::Unix(path.clone()),
        _ => return Err(invalid("its scheme is not known")),
    };
    let login = info.redis_settings();
    // Redis would be used as the default user, without a word.
    if login.username().is_some() && login.password().is_none_or(str::is_empty) {
        return Err(invalid(
            "its user has no password: write user:password@, or :password@ for the default user",
        ));
    }
    Ok((endpoint, login.clone()))
}

fn invalid(reason: &str) -> ConnectError {
    ConnectError::InvalidUrl { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (Deployment, Vec<String>, bool) {
        let url = RedisUrl::parse(url).expect("a URL");
        (url.deployment, url.endpoints.iter().map(Endpoint::to_string).collect(), url.encrypted)
    }

    #[test]
    fn every_deployment_has_its_scheme() {
        let single =
            |endpoint: &str, encrypted| (Deployment::Single, vec![endpoint.to_owned()], encrypted);
        assert_eq!(parsed("redis://a"), single("a:6379", false));
        assert_eq!(parsed("rediss://a:1"), single("a:1", true));
        assert_eq!(
            parsed("redis+sentinel://a,b:2,[::1]:3/main/4"),
            (
                Deployment::Sentinel("main".to_owned()),
                vec!["a:26379".to_owned(), "b:2".to_owned(), "[::1]:3".to_owned()],
                false
            )
        );
        assert_eq!(parsed("redis+sentinel://[::1]/main").1, ["[::1]:26379"]);
        assert_eq!(parsed("redis+cluster://:p@a:1, b,\tc").1, ["a:1", "b:6379", "c:6379"]);
        assert_eq!(
            parsed("rediss+cluster://a,[::1]"),
            (Deployment::Cluster, vec!["a:6379".to_owned(), "[::1]:6379".to_owned()], true)
        );
    }

    #[test]
    fn credentials_and_database_are_those_of_the_servers() {
        let url = RedisUrl::parse("redis+sentinel://u%40v:p%2Fw@a,b/main/4").expect("a URL");
        assert_eq!(url.login.username(), Some("u@v"));
        assert_eq!(url.login.password(), Some("p/w"));
        assert_eq!(url.login.db(), 4);
    }

    #[test]
    fn a_password_that_is_not_encoded_does_not_become_an_address() {
        // Up to the slash or the question mark it looks like a host with its port.
        for url in [
            "redis://u:12/34@a",
            "redis://u:12?34@a",
            "redis+sentinel://u:12/34@a/main",
            "redis+sentinel://u:12?34@a/main",
            "redis+cluster://u:12/34@a",
            "redis+cluster://u:12?34@a",
        ] {
            let refused = RedisUrl::parse(url).expect_err(url).to_string();
            assert!(!refused.contains("12") && !refused.contains("34"), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_unix_socket_has_a_path_and_a_query() {
        let socket = (Deployment::Single, vec!["/run/redis.sock".to_owned()], false);
        assert_eq!(parsed("redis+unix:///run/redis.sock"), socket);
        let url = RedisUrl::parse("redis+unix:///s?db=4&user=u&pass=p%3Fw").expect("a URL");
        assert_eq!((url.login.db(), url.login.password()), (4, Some("p?w")));
    }

    #[cfg(not(unix))]
    #[test]
    fn a_unix_socket_is_refused_where_there_are_none() {
        let refused =
            RedisUrl::parse("redis+unix:///run/redis.sock").expect_err("refused").to_string();
        assert!(refused.contains("Unix sockets are not available"), "{refused}");
    }

    #[test]
    fn a_database_in_a_query_is_for_unix_sockets() {
        assert!(RedisUrl::parse("redis://a?protocol=resp3").is_ok());
        for url in ["redis://a?db=4", "rediss://a/?db=4", "redis://a/?protocol=resp3&db=4"] {
            assert!(RedisUrl::parse(url).is_err(), "{url}: the locks of database 0 are others");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for url in [
            "rediss://a/#insecure",
            "redis+cluster://a/1",
            "redis+sentinel://a",
            "redis+sentinel://a/main?x=1",
            "http+cluster://a",
            "redis+unix:/redis+cluster://u:p@a",
            "redis+cluster://",
            "redis+cluster://a,,b",
            "redis://a,b",
            "rediss://:p@a:1, b:2/0",
            "redis://u@a",
            "redis://u:@a",
            "redis+cluster://u@a",
            "redis+sentinel://u@a/main",
            "redis+unix:///s?user=u",
            "a:6379",
            "http://a",
        ] {
            let refused = RedisUrl::parse(url).expect_err(url);
            assert!(matches!(refused, ConnectError::InvalidUrl { .. }), "{refused}");
        }
    }
}
