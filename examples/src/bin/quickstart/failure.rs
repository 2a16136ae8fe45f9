//! The reasons why the program ends by itself.

use std::{error::Error, fmt, io, process::ExitCode};

/// One line for the user of the program.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An argument or an environment variable is wrong.
    Setting(String),
    /// Something that the program needs is missing.
    Other(String),
}

impl Failure {
    pub(crate) fn port(port: u16, error: io::Error) -> Self {
        Self::Other(format!("cannot listen on 127.0.0.1:{port}: {error}; set PORT to another"))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Setting(_) => ExitCode::from(2),
            Self::Other(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.to_string())
    }
}
