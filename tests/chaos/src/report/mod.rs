//! The final report of the campaign.

mod figures;
mod story;
mod table;

pub(crate) use figures::Figures;
pub(crate) use story::story;
