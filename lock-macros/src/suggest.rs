//! Suggestions of the form "did you mean ..?".

/// Returns `; did you mean ...?` if one of `known` is close to `word`, else an empty text.
pub(crate) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    lock_key::closest(word, known)
        .map(|known| format!("; did you mean `{known}`?"))
        .unwrap_or_default()
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
