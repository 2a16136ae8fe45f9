/// Returns the element of `known` whose spelling is closest to `word`, if any is close, as a
/// suggestion in errors.
pub(crate) fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A third of the letters may differ, so that short words do not match everything.
    let limit = word.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|known| (strsim::osa_distance(word, known), known))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_third_of_the_letters_may_differ() {
        assert_eq!(closest("abc", [""]), None);
        assert_eq!(closest("oder_id", ["id", "order_id"]), Some("order_id"));
        assert_eq!(closest("kitten", ["sittin"]), Some("sittin"));
        assert_eq!(closest("kitten", ["sitting"]), None, "three of six letters differ");
    }

    #[test]
    fn neighbours_that_are_swapped_are_one_mistake() {
        assert_eq!(closest("sol", ["slo"]), Some("slo"), "two replaced letters would be too many");
        assert_eq!(closest("lesae", ["lapse", "lease"]), Some("lease"));
    }
}
