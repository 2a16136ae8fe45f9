//! What Redis gets keeps every rule, within the bounds of each model.

use lock_model_check::{bounds, texts::Texts, verdict};

/// Checks the models whose names begin so, and prints what they were.
fn all_is_well(beginning: &str) {
    let setups = bounds::all().into_iter().filter(|setup| setup.name.starts_with(beginning));
    let setups: Vec<_> = setups.collect();
    assert!(!setups.is_empty(), "no model is called {beginning}");
    for setup in setups {
        let (owners, operations) = (setup.clients, setup.operations);
        let verdict = verdict::check(setup, Texts::real());
        println!(
            "| {} | {owners} x {operations} | {} | {} | {:.1} s |",
            verdict.name,
            verdict.states,
            verdict.transitions,
            verdict.took.as_secs_f64(),
        );
        if let Some(counterexample) = verdict.counterexample {
            panic!("{}: {counterexample}", verdict.name);
        }
    }
}

#[test]
fn a_read_write_lock_keeps_every_rule() {
    all_is_well("read/write");
}

#[test]
fn a_lock_with_one_holder_keeps_every_rule() {
    all_is_well("reentrant");
    all_is_well("fenced");
}

#[test]
fn a_fair_lock_keeps_every_rule() {
    all_is_well("fair:");
}

#[test]
fn a_fair_read_write_lock_keeps_every_rule() {
    all_is_well("fair read/write");
}

#[test]
fn a_semaphore_keeps_every_rule() {
    all_is_well("semaphore");
}
