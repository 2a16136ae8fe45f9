//! What the campaign has to say in the end.

mod figures;
mod story;
mod table;

pub(crate) use figures::Figures;
pub(crate) use story::story;
