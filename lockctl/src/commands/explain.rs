use std::path::PathBuf;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use lock_policy::PolicyFile;

use crate::outcome::{CommandOutput, CommandResult, Exit};

const FIELDS: &str = "\
Values that only the service knows (claims, extensions) stay placeholders in the keys. The
environment is that of this process, including LOCK_TOWER_ENFORCE.

With --json:
  {\"method\", \"path\", \"file\", \"rule\": null | {\"name\", \"line\", \"keys\": [text],
    \"values\": [{\"field\", \"value\", \"origin\"}]}, \"passed\": [{\"name\", \"line\", \"differs\"}]}";

/// Prints which rule applies to a request, its keys, and where each value was set
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// The policy file
    file: PathBuf,
    /// The request's method, such as PUT
    #[arg(value_parser = method)]
    method: Method,
    /// The request's path, with its query, such as /orders/7?page=2
    #[arg(value_parser = path)]
    path: String,
    /// A header of the request; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        let file = PolicyFile::read(&self.file)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        let explanation = file.explain(&self.method, &self.path, &headers);
        Ok(CommandOutput {
            exit: if explanation.rule().is_some() { Exit::Done } else { Exit::Nothing },
            text: explanation.to_string(),
            note: String::new(),
            json: explanation.to_json(),
        })
    }
}

fn method(text: &str) -> Result<Method, String> {
    let method = text.parse().map_err(|_| "it is not an HTTP method".to_owned())?;
    let upper = text.to_ascii_uppercase();
    // Methods are case-sensitive: no rule matches `get`, and the reason would be hard to see.
    if text == upper { Ok(method) } else { Err(format!("did you mean {upper}?")) }
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("a path begins with `/`; set the host with -H 'host: ...'".to_owned())
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write it as 'name: value'")?;
    let name = name.trim().parse().map_err(|_| "not a valid header name".to_owned())?;
    let value = value.trim().parse().map_err(|_| "not a valid header value".to_owned())?;
    Ok((name, value))
}
