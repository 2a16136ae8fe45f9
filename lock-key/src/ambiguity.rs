//! Checks that the values can be read back from a key.
//!
//! `{a}{b}` gives one key for ("1", "23") and ("12", "3"), so a client that chooses `a` and `b`
//! could take or block another client's lock. A template is accepted when every value's end can
//! be found from the left, or its beginning from the right.

use crate::encode::may_contain;
use crate::template_error::{TemplateError, TemplateFault};
use crate::{Placeholder, Segment};

pub(crate) fn check(segments: &[Segment]) -> Result<(), TemplateError> {
    let gaps = gaps(segments);
    // Reading from the left continues while the ends of values can be found. Everything after the first
    // value without such an end must be readable from the right.
    let readable = gaps.iter().take_while(|gap| gap.bounds(gap.left)).count();
    match gaps[readable..].iter().rev().find(|gap| !gap.bounds(gap.right)) {
        None => Ok(()),
        Some(gap) => Err(TemplateError::new(
            TemplateFault::Ambiguous { left: gap.left.name(), right: gap.right.name() },
            gap.left.span.start..gap.right.span.end,
        )),
    }
}

/// Two adjacent placeholders and the text between them.
struct Gap<'t> {
    left: &'t Placeholder,
    text: &'t str,
    right: &'t Placeholder,
}

impl Gap<'_> {
    /// Returns whether the text of this gap always shows where a value of `placeholder` ends.
    fn bounds(&self, placeholder: &Placeholder) -> bool {
        // A canonical UUID always has 36 bytes, a digest 64.
        placeholder.is_of_fixed_length()
            || self.text.bytes().any(|byte| !may_contain(placeholder.ty, byte))
    }
}

fn gaps(segments: &[Segment]) -> Vec<Gap<'_>> {
    let mut gaps = Vec::new();
    let mut left: Option<&Placeholder> = None;
    let mut text = "";
    for segment in segments {
        match segment {
            Segment::Literal(literal) => text = literal,
            Segment::Placeholder(right) => {
                if let Some(left) = left {
                    gaps.push(Gap { left, text, right });
                }
                left = Some(right);
                text = "";
            }
        }
    }
    gaps
}
