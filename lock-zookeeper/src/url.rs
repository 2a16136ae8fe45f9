//! Parses `zookeeper://[user:password@]host[:port][,host[:port]...][/chroot]`.

use lock_store::ConnectError;
use percent_encoding::percent_decode_str;

const PORT: u16 = 2181;

/// A parsed URL.
pub(crate) struct ZooKeeperUrl {
    pub(crate) encrypted: bool,
    /// Host and port of each server.
    pub(crate) servers: Vec<String>,
    /// Empty, or a path that begins with a slash.
    pub(crate) chroot: String,
    /// `user:password`, for the scheme `digest`.
    pub(crate) credentials: Option<String>,
}

impl ZooKeeperUrl {
    /// Whether a URL is one of ZooKeeper, well-formed or not.
    pub(crate) fn is_one(url: &str) -> bool {
        url.starts_with("zookeeper:") || url.starts_with("zookeepers:")
    }

    /// No error contains a text that may be a password.
    pub(crate) fn parse(url: &str) -> Result<Self, ConnectError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("it has no ://"))?;
        if rest.contains(['?', '#']) {
            return Err(invalid("? and # are not allowed; in a password write %3F and %23"));
        }
        let (authority, chroot) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if chroot.contains('@') {
            return Err(invalid("an @ comes after a /, which in a password is written %2F"));
        }
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        let credentials = credentials.map(decode_credentials).transpose()?;
        let servers = hosts.split(',').map(str::trim).map(server).collect::<Result<_, _>>()?;
        let chroot = chroot.trim_end_matches('/');
        if chroot.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid("its chroot is not a path: a part of it is empty, . or .."));
        }
        let (encrypted, chroot) = (scheme == "zookeepers", chroot.to_owned());
        Ok(Self { encrypted, servers, chroot, credentials })
    }

    /// All servers, without chroot and credentials.
    pub(crate) fn address(&self) -> String {
        self.servers.join(",")
    }

    /// As the client library reads it.
    pub(crate) fn connect_string(&self) -> String {
        format!("{}{}", self.address(), self.chroot)
    }
}

fn decode_credentials(text: &str) -> Result<String, ConnectError> {
    let decode = |part: &str| {
        let decoded = percent_decode_str(part).decode_utf8();
        decoded.map_err(|_| invalid("its user or password is not UTF-8")).map(String::from)
    };
    let (user, password) = text
        .split_once(':')
        .ok_or_else(|| invalid("its user has no password: write user:password@"))?;
    if user.is_empty() || password.is_empty() {
        return Err(invalid("its user or password is empty"));
    }
    Ok(format!("{}:{}", decode(user)?, decode(password)?))
}

fn server(text: &str) -> Result<String, ConnectError> {
    let (host, port) = match text.rsplit_once(':') {
        // An IPv6 address in brackets has colons, too.
        Some((_, port)) if port.ends_with(']') => (text, None),
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    if host.is_empty() {
        return Err(invalid("it names no host, or an empty one between two commas"));
    }
    let port = port.map_or(Ok(PORT), str::parse::<u16>);
    let port = port.map_err(|_| invalid("a port is not a number up to 65535"))?;
    Ok(format!("{host}:{port}"))
}

fn invalid(reason: &str) -> ConnectError {
    ConnectError::InvalidUrl { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_chroot_and_credentials() {
        let url =
            ZooKeeperUrl::parse("zookeeper://u:p%40w@a,b:2182,[::1]:3/app/locks/").expect("a URL");
        assert_eq!(url.servers, ["a:2181", "b:2182", "[::1]:3"]);
        assert_eq!(url.connect_string(), "a:2181,b:2182,[::1]:3/app/locks");
        assert_eq!(url.credentials.as_deref(), Some("u:p@w"));
        assert!(!url.encrypted);
        let url = ZooKeeperUrl::parse("zookeepers://[::1]").expect("a URL");
        assert_eq!((url.connect_string().as_str(), url.encrypted), ("[::1]:2181", true));
        assert!(url.credentials.is_none());
    }

    #[test]
    fn what_is_not_understood_is_refused_and_shows_no_password() {
        for url in [
            "zookeeper://",
            "zookeeper:///app",
            "zookeeper://a,,b",
            "zookeeper://a:port",
            "zookeeper://a/x//y",
            "zookeeper://a/../y",
            "zookeeper://a?x=1",
            "zookeeper://u:12/34@a",
            "zookeeper://u:12?34@a",
            "zookeeper://12@a",
            "zookeeper:a",
        ] {
            let Err(refused) = ZooKeeperUrl::parse(url) else { panic!("{url}") };
            let refused = refused.to_string();
            assert!(!refused.contains("34") && !refused.contains("12@"), "{refused}");
        }
    }
}
