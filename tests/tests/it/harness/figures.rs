//! The arithmetic of repeated measurements.

use lock_tests::figures::{Spread, jain, percentile};

#[test]
fn the_median_is_in_the_middle_and_not_the_mean() {
    let spread = Spread::of([9.0, 1.0, 2.0]);
    assert_eq!(spread, Spread { median: 2.0, min: 1.0, max: 9.0 });
    assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]).median, 3.0);
    assert_eq!(Spread::of([7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
}

#[test]
fn ratios_are_of_pairs_not_of_medians() {
    let spread = Spread::of_ratios(&[1.0, 20.0, 3.0], &[2.0, 10.0, 3.0]);
    assert_eq!(spread, Spread { median: 1.0, min: 0.5, max: 2.0 });
}

#[test]
fn a_percentile_is_a_value_that_was_measured() {
    let values: Vec<u64> = (1..=100).rev().collect();
    assert_eq!(percentile(&values, 50), 50);
    assert_eq!(percentile(&values, 99), 99);
    assert_eq!(percentile(&values, 100), 100);
    assert_eq!(percentile(&[3, 1, 2], 50), 2);
    assert_eq!(percentile(&[5], 1), 5);
    assert_eq!(percentile(&[], 50), 0);
}

#[test]
fn jains_index_falls_from_one_to_one_nth() {
    assert_eq!(jain(&[5, 5, 5, 5]), 1.0);
    assert_eq!(jain(&[20, 0, 0, 0]), 0.25);
    assert!((jain(&[1, 2, 3]) - 36.0 / 42.0).abs() < 1e-12);
    assert_eq!(jain(&[0, 0]), 1.0);
}
