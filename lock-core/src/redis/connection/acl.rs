//! Checks which of the rights that the scripts need the user lacks. The check runs over every new
//! connection, so that a missing right is found before the first lock fails.

use redis::Value;

use super::multiplexed::{Connection, Failure};
use crate::redis::{
    connect::{ConnectError, Server},
    protocol::{NamePattern, Request, ScriptCall, SendOptions, Wire, decode},
};

/// The rights that are missing, as `ACL SETUSER` takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingRights {
    /// Without these a script may fail halfway and leave a lock behind.
    pub(crate) needed: Vec<String>,
    /// Without these waiters poll instead of being woken.
    pub(crate) to_publish: Vec<String>,
    /// Commands that the server does not have for any user, in capitals.
    pub(crate) unknown: Vec<String>,
}

impl MissingRights {
    /// The rights that the user lacks on this server; none if the check is turned off.
    pub(crate) async fn find(
        connection: &Connection,
        server: &Server,
    ) -> Result<Self, ConnectError> {
        if !server.check_rights {
            return Ok(Self::default());
        }
        let probe = call(&*server.wire);
        let request = Request::Script(&probe);
        let answers = async {
            let response = connection.send(&request, SendOptions::default()).await?;
            Ok((response, server.waits && may_not_wait(connection).await?))
        };
        match tokio::time::timeout(server.connect_timeout, answers).await {
            Ok(Ok((response, may_not_wait))) => {
                match decode::answers(&response.answer, &probe.nonce) {
                    Ok(()) => {
                        let mut missing = Self::parse(&response.answer, &*server.wire);
                        missing.needed.extend(may_not_wait.then(|| "+wait".to_owned()));
                        Ok(missing)
                    }
                    // The reply of another request: over this connection callers would get the
                    // replies of others.
                    Err(strange) => Err(server.unsupported_error(&strange.to_string())),
                }
            }
            Ok(Err(Failure::ServerError(error))) => Err(server.server_error(error)),
            Ok(Err(Failure::ConnectionLost | Failure::Late)) | Err(_) => {
                Err(server.timeout_error())
            }
        }
    }

    /// Refuses a server on which locks would be left behind.
    pub(crate) fn check(&self, server: &Server) -> Result<(), ConnectError> {
        if !self.unknown.is_empty() {
            return Err(server.unsupported_error(&format!(
                "it does not know {}, which the lock scripts call: remove the `rename-command` that has \
                 renamed or disabled it",
                self.unknown.join(", ")
            )));
        }
        if self.needed.is_empty() {
            return Ok(());
        }
        let rights = self.needed.iter().chain(&self.to_publish).cloned().collect();
        let (address, user) = (server.address.clone(), server.user().to_owned());
        Err(ConnectError::MissingRights { address, user, rights })
    }

    /// The warning for the log and for `health`, if rights are missing.
    pub(crate) fn warning(&self, user: &str) -> Option<String> {
        let words = |rights: &[String]| rights.join(" ");
        if !self.needed.is_empty() {
            let rights = words(&self.needed);
            return Some(format!(
                "the user lacks rights that the lock scripts need, so some locks may not be \
                 released: ACL SETUSER {user} {rights}"
            ));
        }
        (!self.to_publish.is_empty()).then(|| {
            format!(
                "the user may not publish that locks are released, so waiters are not woken and \
                 poll every second: ACL SETUSER {user} {}",
                words(&self.to_publish)
            )
        })
    }

    pub(crate) fn parse(answer: &Value, wire: &dyn Wire) -> Self {
        let Value::Array(parts) = answer else { return Self::default() };
        let list = |at: usize| match parts.get(at) {
            Some(Value::Array(items)) => items.as_slice(),
            _ => &[],
        };
        let (mut needed, mut to_publish) = (Vec::new(), Vec::new());
        for command in list(2) {
            let Value::BulkString(command) = command else { continue };
            let right = format!("+{}", String::from_utf8_lossy(command));
            if right.ends_with("publish") { &mut to_publish } else { &mut needed }.push(right);
        }
        needed.extend(patterns(list(3), 0, wire.key_patterns()));
        to_publish.extend(patterns(list(4), 1, wire.channel_patterns()));
        let text = |value: &Value| match value {
            Value::BulkString(command) => Some(String::from_utf8_lossy(command).to_uppercase()),
            _ => None,
        };
        let unknown = list(5).iter().filter_map(text).collect();
        Self { needed, to_publish, unknown }
    }
}

/// No script can check this. The command requires no replicas, so it returns at once.
async fn may_not_wait(connection: &Connection) -> Result<bool, Failure> {
    let wait = redis::cmd("WAIT").arg(&[0, 1]).to_owned();
    match connection.query::<Value>(&wait).await {
        Err(Failure::ServerError(error)) => Ok(error.code() == Some("NOPERM")),
        answer => answer.map(|_| false),
    }
}

fn call(wire: &dyn Wire) -> ScriptCall {
    let names = |patterns: Vec<NamePattern>| patterns.into_iter().map(|sort| sort.name);
    let mut keys = names(wire.key_patterns());
    let mut call = ScriptCall::new(wire.missing_rights()).arg(keys.next().unwrap_or_default());
    call = call.arg(keys.len().to_string());
    call.nonce = "rights".to_owned();
    keys.chain(names(wire.channel_patterns())).fold(call, ScriptCall::arg)
}

/// The patterns with these numbers, each once: several kinds of names can share one.
fn patterns(numbers: &[Value], first: usize, patterns: Vec<NamePattern>) -> Vec<String> {
    let number = |item: &Value| match item {
        Value::Int(at) => usize::try_from(*at).ok()?.checked_sub(first),
        _ => None,
    };
    let named = numbers.iter().filter_map(number).filter_map(|at| patterns.get(at));
    let mut patterns: Vec<String> = named.map(|sort| sort.pattern.clone()).collect();
    patterns.dedup();
    patterns
}
