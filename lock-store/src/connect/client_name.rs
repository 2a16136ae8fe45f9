//! How a client is named in a store, for operators that look up which instance holds a lock.

use super::ConnectOptions;

/// Service and instance, without spaces, quotes and control characters.
pub fn of(options: &ConnectOptions) -> (String, String) {
    let service = options.service.clone().unwrap_or_else(program);
    let instance = options.instance.clone().unwrap_or_else(process);
    (clean(&service), clean(&instance))
}

fn program() -> String {
    let program = std::env::args().next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_stem();
    program.map_or_else(|| "unnamed".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Process numbers alone repeat from host to host, and in containers they are all 1.
fn process() -> String {
    format!("{}:{}", host(), std::process::id())
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unnamed".to_owned())
}

/// Redis allows no spaces in a connection's name, and quotes would have to be escaped.
fn clean(name: &str) -> String {
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\\');
    name.chars().take(128).map(|c| if odd(c) { '-' } else { c }).collect()
}
