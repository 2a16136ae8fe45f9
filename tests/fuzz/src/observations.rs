use lockctl::observed::{Observed, ObservedError, lines::Lines};

/// A file is a shadow log or a scrape, or what is wrong with it is in one of its lines.
///
/// # Panics
///
/// When the line is not in the file, or the error has no remedy.
pub fn observations(input: &[u8]) {
    let lines = input.split(|byte| *byte == b'\n').count();
    let mut observed = Observed::default();
    let read = observed.add(Lines::new("metrics".to_owned(), input));
    // Once more: a later scrape of the same series, or more lines of the same log.
    let again = read.and_then(|()| observed.add(Lines::new("metrics".to_owned(), input)));
    match again.and_then(|()| observed.finish()) {
        Err(ObservedError::File { line, message, help, .. }) => {
            assert!((1..=lines + 1).contains(&line), "{line} of {lines}: {message}");
            assert!(!message.is_empty() && !help.is_empty());
        }
        Err(ObservedError::Mixed) | Ok(_) => {}
    }
}
