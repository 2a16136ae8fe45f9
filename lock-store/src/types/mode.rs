use std::fmt;

/// The way in which a lock is held, shared or exclusive: by any number of readers, or one writer.
///
/// Reading is "shared" and writing "exclusive" in the words of other libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Shared: held together with other readers, never with a writer.
    Read,
    /// Exclusive: held by one owner alone.
    Write,
}

impl Mode {
    /// Returns `"read"` or `"write"`, as in logs, metrics and policy files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Read => "read",
            Mode::Write => "write",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
