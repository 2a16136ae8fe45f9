//! The scripts that Redis gets keep every rule, within [`bounds`].

use lock_model_check::{
    bounds,
    texts::Texts,
    verdict::{self, Verdict},
};

/// Checks the models whose names begin so, and prints what they were.
fn all_is_well(beginning: &str) {
    let setups = bounds::all().into_iter().filter(|setup| setup.name.starts_with(beginning));
    let setups: Vec<_> = setups.collect();
    assert!(!setups.is_empty(), "no model is called {beginning}");
    for setup in setups {
        let (owners, operations) = (setup.clients, setup.operations);
        is_well(owners, operations, verdict::check(setup, Texts::real(), bounds::transitions()));
    }
}

fn is_well(owners: u8, operations: u8, verdict: Verdict) {
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

#[test]
fn a_lock_with_one_holder_on_the_native_wire_keeps_every_rule() {
    all_is_well("native reentrant");
    all_is_well("native fenced");
}

#[test]
fn a_line_on_the_native_wire_keeps_every_rule_where_it_is_not_in_the_value() {
    all_is_well("native long line");
    all_is_well("native growing line");
}

#[test]
fn a_read_write_lock_on_the_native_wire_keeps_every_rule() {
    all_is_well("native read/write");
}

#[test]
fn a_fair_lock_on_the_native_wire_keeps_every_rule() {
    all_is_well("native fair");
}

#[test]
fn a_semaphore_on_the_native_wire_keeps_every_rule() {
    all_is_well("native semaphore");
}

/// Every rule of each of them, and that all are granted or none.
#[test]
fn several_locks_at_once_keep_every_rule() {
    several_keep_every_rule(|name| !name.starts_with("native"));
}

#[test]
fn several_locks_on_the_native_wire_keep_every_rule() {
    several_keep_every_rule(|name| name.starts_with("native"));
}

fn several_keep_every_rule(are_checked: impl Fn(&str) -> bool) {
    for setup in bounds::several().into_iter().filter(|setup| are_checked(setup.name)) {
        let (owners, operations) = (setup.clients, setup.operations);
        is_well(
            owners,
            operations,
            verdict::check_several(setup, Texts::real(), bounds::transitions()),
        );
    }
}
