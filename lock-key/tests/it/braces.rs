//! The rule for the braces of a finished key, against a second way of saying it.

use lock_key::{BraceFault, check_braces};

#[test]
fn each_fault_with_its_place() {
    for (key, fault, place) in [
        ("a}b{", BraceFault::CloseWithoutOpen, 1..2),
        ("a}", BraceFault::CloseWithoutOpen, 1..2),
        ("ö{b", BraceFault::OpenWithoutClose, 2..3),
        ("a{}b", BraceFault::EmptyTag, 1..3),
        ("{}{a}", BraceFault::EmptyTag, 0..2),
        ("{a{b}", BraceFault::MoreThanOnePair, 2..3),
        ("{a}{b}", BraceFault::MoreThanOnePair, 3..4),
        ("{a}}", BraceFault::MoreThanOnePair, 3..4),
    ] {
        let error = check_braces(key).expect_err(key);
        assert_eq!((error.fault(), error.span()), (fault, place), "{key}");
        assert!(error.to_string().contains("such as `order:{42}`"), "{error}");
    }
}

#[test]
fn every_short_text_is_judged_by_the_rule() {
    let letters = ['{', '}', 'x'];
    for length in 0..=7 {
        for number in 0..letters.len().pow(length) {
            let mut rest = number;
            let key: String = (0..length)
                .map(|_| {
                    let letter = letters[rest % letters.len()];
                    rest /= letters.len();
                    letter
                })
                .collect();
            let (opens, closes) = (key.matches('{').count(), key.matches('}').count());
            let none = opens == 0 && closes == 0;
            let one = opens == 1
                && closes == 1
                && key.find('{').zip(key.find('}')).is_some_and(|(open, close)| open + 1 < close);
            assert_eq!(check_braces(&key).is_ok(), none || one, "{key}");
        }
    }
}
