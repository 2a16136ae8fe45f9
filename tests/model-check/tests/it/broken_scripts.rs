//! The checker can fail: scripts that are broken on purpose are found out, each by the model that is
//! named for it.

use std::collections::BTreeSet;

use lock_model_check::{
    bounds,
    model::Wrong,
    mutants::{self, Mutant},
    texts::Texts,
    verdict,
};

/// No broken script needs more transitions to be found out.
const ENOUGH: usize = 200_000;

/// The first mutant of each script; with `MODEL_CHECK=whole` all of them.
fn chosen() -> Vec<Mutant> {
    let mut files = BTreeSet::new();
    let is_chosen = |mutant: &Mutant| files.insert(mutant.file) || bounds::is_whole();
    mutants::all().into_iter().filter(is_chosen).collect()
}

/// Finds out those whose model begins so, and prints how.
fn are_found_out(beginning: &str) {
    let broken: Vec<Mutant> =
        chosen().into_iter().filter(|one| one.model.starts_with(beginning)).collect();
    assert!(!broken.is_empty(), "no mutant is of {beginning}");
    let mut missed = Vec::new();
    for mutant in broken {
        let verdict = mutant.check(ENOUGH);
        let Some(found) = verdict.counterexample else {
            missed.push(mutant.name);
            continue;
        };
        let Mutant { name, defect, file, model, .. } = mutant;
        let (rule, steps) = (found.rule, found.actions.len());
        println!("| {name} | {defect} | `{file}` | {model} | {rule} | {steps} |");
    }
    assert!(missed.is_empty(), "not found out: {missed:#?}");
}

#[test]
fn broken_read_write_locks_are_found_out() {
    are_found_out("read/write");
}

#[test]
fn broken_locks_with_one_holder_are_found_out() {
    are_found_out("reentrant");
    are_found_out("fenced");
}

#[test]
fn broken_fair_locks_are_found_out() {
    are_found_out("fair");
}

#[test]
fn broken_semaphores_are_found_out() {
    are_found_out("semaphore");
}

#[test]
fn broken_steps_for_several_locks_are_found_out() {
    are_found_out("several");
}

#[test]
fn broken_locks_on_the_native_wire_are_found_out() {
    are_found_out("native");
}

/// A process that uses the token of a free lock although it is none after those that it knows: the
/// counter was lost.
#[test]
fn tokens_that_are_believed_though_the_counter_was_lost_are_found_out() {
    let mut setup = bounds::named("native fenced: tokens lost");
    setup.believes_any_token = true;
    let found = verdict::check(setup, Texts::real(), ENOUGH).counterexample;
    assert_eq!(found.expect("a counterexample").rule, Wrong::Token.rule());
}

/// A process that draws the token of a free lock before it has the lock.
#[test]
fn tokens_drawn_before_the_former_holder_is_gone_are_found_out() {
    let mut setup = bounds::named("native reentrant: two");
    setup.draws_first = true;
    let found = verdict::check(setup, Texts::real(), ENOUGH).counterexample;
    assert_eq!(found.expect("a counterexample").rule, Wrong::Token.rule());
}

/// A process that does not look whether it still has a free lock after it drew the token: an operator may
/// have taken the lock away, with a smaller token.
#[test]
fn a_free_lock_that_is_not_read_after_its_token_was_drawn_is_found_out() {
    let mut setup = bounds::named("native reentrant: taken away");
    setup.believes_unread = true;
    let found = verdict::check(setup, Texts::real(), ENOUGH).counterexample;
    assert_eq!(found.expect("a counterexample").rule, Wrong::CutShort.rule());
}

/// The list in the README is the one of the mutants: the same rows, each once.
#[test]
fn the_readme_lists_all_of_them() {
    let readme = include_str!("../../README.md");
    let (_, table) = readme.split_once("## It can fail").expect("a section");
    let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let row = |line: &str| line.split(" | ").take(4).collect::<Vec<_>>().join(" | ");
    let listed: BTreeSet<String> = rows.clone().map(row).collect();
    let all: BTreeSet<String> = mutants::all()
        .into_iter()
        .map(|Mutant { name, defect, file, model, .. }| {
            format!("| {name} | {defect} | `{file}` | {model}")
        })
        .collect();
    assert_eq!(rows.count(), listed.len(), "a row stands twice");
    let missing: Vec<_> = all.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&all).collect();
    assert!(missing.is_empty() && gone.is_empty(), "missing: {missing:#?}\ngone: {gone:#?}");
}

/// Defect X2: not the scripts', but of clients that call themselves the same again.
#[test]
fn owners_that_are_used_twice_are_found_out() {
    let mut setup = bounds::named("reentrant: late");
    setup.fresh_owners = false;
    let verdict = verdict::check(setup, Texts::real(), ENOUGH);
    assert!(verdict.counterexample.is_some());
}

/// Where the user may not say that an old connection is dead: what was requested there at once may
/// arrive after one of the locks was released, and be refused. Then it takes the other one back too.
#[test]
fn multi_locks_requested_by_an_old_connection_are_found() {
    let named = |name| bounds::several().into_iter().find(|setup| setup.name == name);
    let mut setup = named("several locks: late").expect("a model");
    setup.ends_connections = false;
    let verdict = verdict::check_several(setup, Texts::real(), ENOUGH);
    let found = verdict.counterexample.expect("a counterexample");
    assert_eq!(found.rule, Wrong::CutShort.rule(), "{found}");
    println!("{found}");
}

#[test]
fn every_mutant_fits_its_script() {
    mutants::all().iter().for_each(|mutant| drop(mutant.texts()));
}

#[test]
fn every_mutant_has_a_name_of_its_own() {
    let mut names: Vec<&str> = mutants::all().iter().map(|mutant| mutant.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]));
}
