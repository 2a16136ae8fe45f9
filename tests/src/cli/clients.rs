//! Who is connected.

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

    /// A field by its name in CLIENT LIST, such as `resp`, `sub`, `cmd`; empty when not there.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// What CLIENT KILL ID takes.
    pub fn id(&self) -> &str {
        self.field("id")
    }

    /// The name it gave itself.
    pub fn name(&self) -> &str {
        self.field("name")
    }
}

impl Cli {
    /// Every connection but those of the harness.
    pub async fn client_list(&self) -> Vec<ConnectedClient> {
        let lines: String = self.query(&["CLIENT", "LIST"]).await;
        lines
            .lines()
            .map(ConnectedClient::parse)
            .filter(|client| client.name() != Self::NAME)
            .collect()
    }

    /// Closes one connection from the server's side.
    pub async fn kill_client(&self, client: &ConnectedClient) {
        let () = self.query(&["CLIENT", "KILL", "ID", client.id()]).await;
    }
}
