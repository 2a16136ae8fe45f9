//! The errors of a file and their places.

mod diagnostic;
mod error;
mod snippet;
mod source_file;
mod suggestion;

pub(crate) use diagnostic::Diagnostic;
pub use error::{PolicyError, PolicyErrors, RelatedPlace};
pub(crate) use source_file::SourceFile;
pub(crate) use suggestion::closest;
