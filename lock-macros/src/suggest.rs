//! Suggestions of the form "did you mean ..?".

/// Returns `; did you mean ...?` if one of `known` is close to `word`, else an empty text.
pub(crate) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    // A third of the letters may differ, so that short words do not resemble everything.
    let limit = word.chars().count().div_ceil(3);
    let known = known.into_iter().map(|known| (strsim::osa_distance(word, known), known));
    let close = known.filter(|(distance, _)| *distance <= limit);
    match close.min_by_key(|(distance, _)| *distance) {
        Some((_, known)) => format!("; did you mean `{known}`?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn only_what_is_close_is_suggested() {
        assert_eq!(did_you_mean("lese", ["key", "lease"]), "; did you mean `lease`?");
        assert_eq!(did_you_mean("timeout", ["key", "wait", "lease"]), "");
        assert_eq!(did_you_mean("oid", ["body", "id"]), "; did you mean `id`?");
        assert_eq!(did_you_mean("id", ["body", "tenant"]), "");
        assert_eq!(did_you_mean("id", []), "");
    }
}
