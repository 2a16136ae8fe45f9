//! Scripts that are broken on purpose: each must be found out.

mod fair;
mod fast_path;
mod native;
mod operators;
mod read_write;
mod semaphore;
mod several;
mod short_line;
mod sole;
mod tokens;

use crate::{
    texts::{self, Texts},
    verdict::Verdict,
};

/// A script with one thing wrong.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// What is wrong.
    pub name: &'static str,
    /// The known defect that it has, by its number, or nothing.
    pub defect: &'static str,
    /// The file of the scripts.
    pub file: &'static str,
    /// What stands there, exactly once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
    /// The model that must find it out.
    pub model: &'static str,
}

/// One that is no known defect of Redisson's scripts.
const fn of(
    name: &'static str,
    model: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
) -> Mutant {
    Mutant { name, defect: "", file, from, to, model }
}

impl Mutant {
    /// The texts with this one thing wrong.
    ///
    /// # Panics
    ///
    /// When the script has changed so that this cannot be done to it any more.
    #[must_use]
    pub fn texts(&self) -> Texts {
        let text = texts::file_text(self.file);
        let found = text.matches(self.from).count();
        assert_eq!(found, 1, "{}: {} has this {found} times: {}", self.name, self.file, self.from);
        Texts::with_file(self.file, &text.replace(self.from, self.to))
    }

    /// What the model says that must find it out, within so many transitions.
    #[must_use]
    pub fn check(&self, transitions: usize) -> Verdict {
        crate::bounds::check(self.model, self.texts(), transitions)
    }
}

/// All of them.
#[must_use]
pub fn all() -> Vec<Mutant> {
    [
        read_write::MUTANTS,
        sole::MUTANTS,
        tokens::MUTANTS,
        fast_path::MUTANTS,
        fair::MUTANTS,
        semaphore::MUTANTS,
        several::MUTANTS,
        native::MUTANTS,
        short_line::MUTANTS,
        operators::MUTANTS,
    ]
    .concat()
}
