//! The kinds of lock that an attribute can take.

use proc_macro2::Span;
use syn::{Error, LitStr, Result};

use crate::suggest::did_you_mean;

/// One kind, as the attribute writes it and as the library does.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Kind {
    word: &'static str,
    pub(crate) variant: &'static str,
    has_readers: bool,
}

/// All kinds, the default first, in the order in which messages and the documentation name them. This
/// crate does not depend on that of the locks: `tests/macros` compares the list with theirs.
const KINDS: [Kind; 7] = [
    Kind { word: "read_write", variant: "ReadWrite", has_readers: true },
    Kind { word: "fair_read_write", variant: "FairReadWrite", has_readers: true },
    Kind { word: "reentrant", variant: "Reentrant", has_readers: false },
    Kind { word: "non_reentrant", variant: "NonReentrant", has_readers: false },
    Kind { word: "fair", variant: "Fair", has_readers: false },
    Kind { word: "fenced", variant: "Fenced", has_readers: false },
    Kind { word: "semaphore", variant: "Semaphore", has_readers: false },
];

impl Default for Kind {
    fn default() -> Self {
        KINDS[0]
    }
}

impl Kind {
    pub(crate) fn of(literal: &LitStr) -> Result<Self> {
        let word = literal.value();
        let refused = |text: String| Error::new(literal.span(), text);
        KINDS.into_iter().find(|kind| kind.word == word).ok_or_else(|| {
            let hint = did_you_mean(&word, KINDS.map(|kind| kind.word));
            let legal = KINDS.map(|kind| kind.word).join(", ");
            refused(format!("`{}` is not a kind; legal are {legal}{hint}", word.escape_debug()))
        })
    }

    /// Returns the kind with this word, which the list has.
    pub(crate) fn of_word(word: &str) -> Self {
        let known = KINDS.into_iter().find(|kind| kind.word == word);
        known.expect("BUG: a word that is no kind")
    }

    pub(crate) fn is_semaphore(self) -> bool {
        self.variant == "Semaphore"
    }

    /// Checks that the kind has readers; `option` is the place of the option that needs them.
    pub(crate) fn check_readers(self, option: Span) -> Result<()> {
        if self.has_readers {
            return Ok(());
        }
        let what = match self.word {
            "semaphore" => "a semaphore has permits and no readers".to_owned(),
            word => format!("a {word} lock has one holder and no readers"),
        };
        let help = "leave `mode` out, or use the kind read_write or fair_read_write";
        Err(Error::new(option, format!("{what}: {help}")))
    }
}
