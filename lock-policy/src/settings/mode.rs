use http::Method;
use lock_core::{Kind, Mode};

/// The mode of a layer's lock: reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LockMode {
    /// The read lock: readers run concurrently, but never with a writer.
    Read,
    /// The write lock: one request at a time.
    Write,
    /// By the request's method: `GET`, `HEAD` and `OPTIONS`, which HTTP defines to change nothing,
    /// take the read lock, and every other method the write lock. The default of a layer. On a kind
    /// without readers, the write lock for every method.
    #[default]
    ByMethod,
}

impl LockMode {
    /// Returns the mode that a policy file writes as this word.
    #[cfg(feature = "file")]
    pub(crate) fn of_word(word: &str) -> Self {
        match word {
            "read" => Self::Read,
            "write" => Self::Write,
            _ => Self::ByMethod,
        }
    }

    /// Returns the mode for a request with this method, on a kind with readers.
    #[must_use]
    pub fn of(self, method: &Method) -> Mode {
        match self {
            Self::Read => Mode::Read,
            Self::Write => Mode::Write,
            Self::ByMethod => match *method {
                Method::GET | Method::HEAD | Method::OPTIONS => Mode::Read,
                _ => Mode::Write,
            },
        }
    }

    /// Returns every mode that a request on this kind may have.
    #[doc(hidden)]
    #[must_use]
    pub fn possible(self, kind: Kind) -> &'static [Mode] {
        match self {
            Self::ByMethod if kind.has_readers() => &[Mode::Read, Mode::Write],
            Self::Read => &[Mode::Read],
            Self::Write | Self::ByMethod => &[Mode::Write],
        }
    }

    /// Returns the mode for a request on this kind. An explicit read stays a read, even on a kind
    /// without readers, so that the mistake is reported.
    #[doc(hidden)]
    #[must_use]
    pub fn on(self, kind: Kind, method: &Method) -> Mode {
        match self {
            Self::ByMethod if !kind.has_readers() => Mode::Write,
            mode => mode.of(method),
        }
    }
}

impl From<Mode> for LockMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Read => Self::Read,
            Mode::Write => Self::Write,
        }
    }
}
