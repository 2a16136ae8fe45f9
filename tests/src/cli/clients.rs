//! The connected clients.

use std::collections::BTreeMap;

use super::Cli;

/// One line of CLIENT LIST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedClient {
    fields: BTreeMap<String, String>,
}

impl ConnectedClient {
    fn parse(line: &str) -> Self {
        let fields = line.split(' ').filter_map(|word| word.split_once('='));
        Self { fields: fields.map(|(k, v)| (k.to_owned(), v.to_owned())).collect() }
    }

    /// Returns a field by its name in CLIENT LIST, such as `resp`, `sub`, `cmd`; empty if absent.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The id for CLIENT KILL ID.
    pub fn id(&self) -> &str {
        self.field("id")
    }

    /// The name that it set.
    pub fn name(&self) -> &str {
        self.field("name")
    }
}

impl Cli {
    /// Returns every connection except those of the harness.
    pub async fn client_list(&self) -> Vec<ConnectedClient> {
        let lines: String = self.query(&["CLIENT", "LIST"]).await;
        lines
            .lines()
            .map(ConnectedClient::parse)
            .filter(|client| client.name() != Self::NAME)
            .collect()
    }

    /// Closes one connection at the server.
    pub async fn kill_client(&self, client: &ConnectedClient) {
        let () = self.query(&["CLIENT", "KILL", "ID", client.id()]).await;
    }
}
