/// Returns the word of `known` that is most similar to `word`, if any is close, for suggestions in
/// errors.
///
/// # Examples
///
/// ```
/// use lock_key::closest;
///
/// assert_eq!(closest("lese", ["key", "lease"]), Some("lease"));
/// assert_eq!(closest("timeout", ["key", "lease"]), None);
/// ```
pub fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // At most a third of the letters may differ, so that short words do not match everything.
    let limit = word.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|known| (distance(word, known), known))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Returns how many letters must be inserted, removed, replaced or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replaced = last[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                let swapped: usize = before_last[j - 2];
                best = best.min(swapped + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}
