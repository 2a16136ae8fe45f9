//! What the campaign has to say in the end.

mod figures;
mod story;

pub(crate) use figures::Figures;
pub(crate) use story::story;
