//! The requirements on every store, written once and run on each: those that the tests of Redisson
//! and Curator check for each kind of lock, and more.
//!
//! A store is put under test by a [`Fixture`]; [`run`] runs every case that it supports, and
//! [`cases`] lists them for a separate test program. Most cases have real leases and take seconds.
//!
//! ```
//! use std::sync::Arc;
//!
//! use futures_util::{FutureExt, future::BoxFuture};
//! use lock_conformance::Fixture;
//! use lock_core::{LockClient, LockClientBuilder, LockKey, MemoryStore};
//!
//! struct InMemory(MemoryStore);
//!
//! impl Fixture for InMemory {
//!     fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient> {
//!         let store = Arc::new(self.0.clone());
//!         std::future::ready(builder.store(store)).boxed()
//!     }
//!
//!     fn remove(&self, key: LockKey) -> BoxFuture<'_, ()> {
//!         self.0.remove(&key);
//!         std::future::ready(()).boxed()
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // All of them: lock_conformance::run(..).await
//! let case = lock_conformance::case("matrix::between_processes");
//! case.run(async || InMemory(MemoryStore::new())).await;
//! # }
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a case fails by panicking, as a test does"
)]

mod commands;
mod crashes;
mod eventually;
mod faulty_store;
mod fixture;
mod hand_over;
mod kinds;
mod leader;
mod leases;
mod looking;
mod matrix;
mod modes;
mod multi;
mod once;
mod order;
mod parking;
mod refusals;
mod replace;
mod scopes;
mod semaphore;
mod sharing;
mod starvation;
mod state;
mod stopwatch;
mod store_under_test;
mod waiting;
mod work;

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{
    FutureExt,
    future::LocalBoxFuture,
    stream::{self, StreamExt},
};

pub use eventually::{LIMIT, bounded, eventually};
pub use faulty_store::{CommandKind, ConstantFaults, Delivery, FaultPlan, client as faulty};
pub use fixture::{Feature, Fixture};
pub use stopwatch::{Stopwatch, beat_on_each_processor, unless_stalled};
use store_under_test::StoreUnderTest;

/// Passes every case to a macro: by module, each with the features that it needs.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($with:ident) => {
        $with! {
            commands {
                a_repeated_command_counts_once []
                a_command_of_a_former_owner_changes_nothing []
                re_entry_without_an_outer_hold_leaves_nothing []
                releases_of_one_moment_have_an_answer_each []
                no_command_shortens_a_lease []
                a_lease_is_set_exactly [LeasePerLock]
                reserved_tokens_are_given_to_no_other_owner [ReservedTokens]
                readers_are_counted_one_by_one [ReadWrite]
                readers_before_a_writer_enter_in_any_order [FairReadWrite]
                a_repeated_transfer_counts_once [Parking ReadWrite FairReadWrite Fair Reentrant Fenced]
                a_transfer_of_what_is_not_the_only_hold_changes_nothing [Parking ReadWrite FairReadWrite Fair Reentrant Fenced]
            }
            crashes {
                what_a_dead_process_held_passes_on []
                dead_readers_and_dead_permits_pass_on [ReadWrite Semaphore]
            }
            hand_over {
                each_turn_is_a_lock_of_its_own [ReadWrite Reentrant NonReentrant Fenced ReservedTokens Admin]
                without_handoffs_each_acquisition_goes_to_the_store [ReadWrite Admin]
                a_request_with_other_options_is_not_handed_off [LeasePerLock ReadWrite ReservedTokens Admin]
                a_hold_that_was_changed_is_not_handed_over [ReadWrite ReservedTokens ModeChanges Admin]
                a_loss_ends_the_turn_and_the_next_one_is_granted_anew [ReadWrite ReservedTokens Admin]
                others_get_in_between [ReadWrite WakeUps]
                readers_of_the_process_get_in_between [ReadWrite]
                a_client_that_retries_constantly_keeps_none_out [ReadWrite]
            }
            kinds {
                one_holder_at_a_time []
                re_entry_by_kind []
                tokens_grow_for_every_kind []
                a_release_wakes_the_next_of_its_kind [WakeUps]
                leases_are_renewed_and_end []
                a_removed_lock_of_any_kind_is_lost []
                crowds_never_overlap []
                a_wait_that_is_over_or_abandoned_leaves_nothing []
                locks_without_readers []
                shapes_refuse_each_other [Reentrant Fair ReadWrite FairReadWrite Semaphore]
            }
            leader {
                the_next_leads_as_soon_as_one_resigns [Fenced WakeUps]
                a_leader_resigns_on_request [Fenced Admin]
            }
            leases {
                a_lease_is_renewed [ReadWrite]
                a_hold_with_both_modes_is_renewed [ReadWrite]
                a_lease_that_is_not_renewed_passes_on [ReadWrite]
                a_hold_is_renewed_on_demand [LeasePerLock ReadWrite Fair Semaphore]
                a_removed_lock_is_lost [ReadWrite]
                a_scope_cannot_enter_a_lost_hold [ReadWrite]
                the_longest_lease_of_a_hold_wins [LeasePerLock ReadWrite]
                max_hold_passes_the_lock_on [ReadWrite]
                an_earlier_lease_counts_for_no_later_acquisition [LeasePerLock ReadWrite Admin]
                a_writer_waits_for_the_longest_read [LeasePerLock ReadWrite FairReadWrite]
                readers_enter_when_the_writers_lease_is_over [ReadWrite FairReadWrite]
                a_hold_that_was_entered_and_left_is_renewed []
            }
            looking {
                a_free_lock_has_no_holders_and_no_waiters [Admin]
                holders_are_named_with_their_counts [StoredCounts LeasePerLock ReadWrite FairReadWrite Admin]
                participants_are_listed_in_order [Fair FairReadWrite Admin]
                a_semaphores_permits_are_its_holders [Semaphore Admin]
                force_release_makes_tokens_stale_and_wakes [Admin WakeUps]
                force_release_of_a_free_lock [ReadWrite Admin]
                a_holder_learns_at_once_that_its_lock_was_taken [LeasePerLock ReadWrite Admin WakeUps]
                a_holder_receives_a_release_request [Semaphore Admin]
                a_later_holder_has_no_release_request [ReadWrite Admin]
                pages_cover_every_lock [ReadWrite Admin]
                locks_are_listed_by_prefix [Reentrant NonReentrant Fair Fenced ReadWrite FairReadWrite Semaphore Admin]
            }
            matrix {
                between_processes [ReadWrite]
                within_a_process_without_a_scope [ReadWrite]
                between_scopes [ReadWrite]
                within_one_scope [ReadWrite]
                within_one_scope_beside_others [ReadWrite]
            }
            modes {
                the_sole_reader_becomes_the_writer [ReadWrite ModeChanges]
                no_reader_upgrades_beside_other_readers [ReadWrite ModeChanges]
                a_downgrade_lets_waiting_readers_in [ReadWrite ModeChanges WakeUps]
                an_upgrade_inside_a_scope_counts [ReadWrite ModeChanges]
                tokens_grow [ReadWrite]
            }
            multi {
                all_or_nothing_for_all_kinds [Reentrant NonReentrant Fair Fenced ReadWrite FairReadWrite Semaphore]
                the_refused_one_is_waited_for_with_nothing_held [AtomicMulti ReadWrite Admin]
                a_limit_that_is_waited_for_takes_nothing_of_the_others [AtomicMulti ReadWrite Semaphore Admin]
                one_that_comes_from_another_limit_passes_those_that_have_waited_less [AtomicMulti Semaphore Admin]
                a_place_in_a_fair_line_is_left_when_another_lock_is_in_the_way [AtomicMulti Fair ReadWrite Admin]
                opposite_orders_never_wait_for_each_other [Reentrant Fair ReadWrite]
                nothing_is_left_after_refusals [Reentrant NonReentrant Fair Fenced ReadWrite FairReadWrite Semaphore]
                of_many_at_once_one_gets_all [ReadWrite]
                its_lease_is_the_requested_one_after_refusals [LeasePerLock ReadWrite Admin]
                its_wait_ends_and_so_does_its_lease [ReadWrite]
                one_that_is_lost_keeps_no_other_locked [ReadWrite]
            }
            once {
                of_all_callers_of_all_processes_one_fills []
                a_fill_that_fails_or_is_dropped_is_repeated_by_the_next_caller []
                a_filler_that_dies_is_replaced []
            }
            order {
                waiters_are_served_in_order_of_arrival [Fair FairReadWrite Admin]
                readers_that_follow_each_other_share [FairReadWrite Admin]
                a_reader_stays_behind_a_writer_that_came_before [FairReadWrite Admin]
                contenders_stay_behind_after_a_downgrade [FairReadWrite ModeChanges Admin]
                a_try_is_refused_while_others_wait_in_line [FairReadWrite Admin]
                re_entry_passes_the_line [Fair FairReadWrite Admin]
                a_dead_waiter_is_passed_by [Fair FairReadWrite Admin]
                a_waiter_that_gives_up_leaves_the_line [Fair FairReadWrite Admin]
                holders_that_never_release_pass_it_on_in_order [Fair FairReadWrite Admin]
            }
            parking {
                a_parked_hold_is_resumed_once [Parking Reentrant NonReentrant Fair Fenced ReadWrite FairReadWrite]
                a_parked_hold_ends_with_its_lease [Parking ReadWrite FairReadWrite Fair]
                a_resumed_hold_is_renewed [Parking ReadWrite FairReadWrite Fair]
                a_parked_read_keeps_writers_out_beside_others [Parking ReadWrite FairReadWrite]
                waiters_wait_for_a_parked_hold [Parking ReadWrite FairReadWrite Fair WakeUps]
                a_mode_that_was_changed_is_parked [Parking ReadWrite FairReadWrite ModeChanges]
            }
            refusals {
                bad_keys [ReadWrite]
                bad_leases [ReadWrite]
                keys_of_all_shapes [ReadWrite]
            }
            replace {
                the_newest_caller_replaces_the_holder [ReadWrite Admin WakeUps]
                of_those_that_wait_only_the_newest_stays [ReadWrite Admin WakeUps]
                a_holder_that_ignores_it_loses_its_lock [ReadWrite Admin WakeUps]
                readers_are_replaced_by_a_writer [ReadWrite Admin WakeUps]
                a_scope_enters_its_own_hold_again [ReadWrite Admin]
                nothing_is_left_of_a_caller_that_leaves [ReadWrite Admin]
            }
            scopes {
                counts_go_up_and_down [ReadWrite Admin]
                inner_guards_may_outlive_outer_ones [ReadWrite]
                a_locked_function_calls_a_locked_function [ReadWrite Admin]
                joined_acquisitions_of_one_scope_both_enter [ReadWrite]
                a_spawned_task_is_not_in_the_scope [ReadWrite]
                a_scope_may_lock_again_after_release [ReadWrite]
                one_scope_many_keys_and_clients [ReadWrite]
            }
            semaphore {
                as_many_as_there_are_permits [Semaphore]
                tries_at_the_same_time_all_get_what_is_free [Semaphore]
                a_scope_takes_one_permit_more_each_time [Semaphore]
                a_returned_permit_wakes_the_waiter [Semaphore WakeUps]
                permits_are_renewed_and_return_with_their_lease [Semaphore]
                more_and_fewer_permits [StoredPermits Semaphore]
                the_first_acquisition_sets_the_number_of_permits [StoredPermits Semaphore]
                each_client_counts_by_its_own_number [Semaphore]
                waiters_of_two_numbers_are_granted_in_order [Semaphore WakeUps Admin]
                nothing_is_left_of_a_semaphore [Semaphore Admin LeasePerLock]
                crowds_never_exceed_it [Semaphore]
                a_semaphore_without_permits_is_refused [Semaphore]
                several_permits_are_granted_at_once_or_not_at_all [Semaphore SeveralPermits Admin]
                a_waiter_that_wants_many_is_not_passed [Semaphore SeveralPermits WakeUps]
                a_large_waiter_that_leaves_lets_smaller_ones_in [Semaphore SeveralPermits WakeUps]
                several_permits_are_renewed_and_return_together [Semaphore SeveralPermits]
            }
            sharing {
                the_store_has_one_holder [ReadWrite Admin]
                each_is_a_lock_of_its_own [ReadWrite]
                it_is_free_when_the_last_reader_has_gone [ReadWrite]
                no_reader_joins_a_hold_whose_leader_has_gone [ReadWrite Admin]
                a_request_with_other_options_is_not_shared [LeasePerLock ReadWrite Admin]
                a_loss_ends_them_all [ReadWrite]
                each_ends_at_its_own_max_hold [ReadWrite ModeChanges Admin]
                a_writer_of_the_process_is_not_passed_by [ReadWrite]
                only_a_sole_reader_can_upgrade [ReadWrite ModeChanges]
                a_follower_that_is_left_can_upgrade [ReadWrite ModeChanges Admin]
                a_follower_enters_again_on_its_own [ReadWrite ModeChanges Admin]
                every_reader_receives_a_release_request [ReadWrite Admin]
            }
            starvation {
                writers_are_let_in_among_continuous_readers [ReadWrite]
                readers_are_let_in_among_continuous_writers [ReadWrite WakeUps]
            }
            state {
                holds_are_counted_for_every_kind [Admin]
                each_client_reports_whether_it_is_locked [StoredCounts ReadWrite FairReadWrite Admin]
                a_read_given_back_inside_a_write_leaves_the_write [ReadWrite FairReadWrite]
            }
            waiting {
                a_release_wakes_the_waiter [ReadWrite WakeUps]
                readers_enter_together_after_a_writer [ReadWrite WakeUps]
                a_wait_ends_when_it_is_over [ReadWrite]
                critical_sections_never_overlap [ReadWrite]
                local_waiters_are_served_in_order [ReadWrite]
                too_many_waiters_are_refused [ReadWrite]
                an_acquisition_sets_its_own_waiter_limit [Semaphore Admin]
                an_abandoned_wait_leaves_nothing [ReadWrite]
                an_immediate_retry_is_never_busy [ReadWrite]
                shutdown_ends_waits_and_waits_for_releases [ReadWrite]
                a_waiter_that_gives_up_when_it_is_next_passes_the_lock_on [ReadWrite]
            }
            work {
                long_holds_and_waits_are_written_down [WorkRecords ReadWrite Fair Admin]
                a_permit_is_written_down [WorkRecords Semaphore Admin]
                a_deadlock_between_three_processes_is_broken [WorkRecords ReadWrite Fair Admin]
            }
        }
    };
}

macro_rules! list {
    ($($module:ident { $($case:ident [$($need:ident)*])* })*) => {
        const CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($module), "::", stringify!($case)),
            needs: &[$(Feature::$need),*],
            body: |world| $module::$case(world).boxed_local(),
        },)*)*];
    };
}

crate::conformance_cases!(list);

/// How many cases run at the same time: most of them wait for most of their time.
const AT_ONCE: usize = 8;

/// One requirement on a store.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    name: &'static str,
    needs: &'static [Feature],
    body: fn(StoreUnderTest) -> LocalBoxFuture<'static, ()>,
}

impl Case {
    /// Its name, such as `kinds::one_holder_at_a_time`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The features that a store must have for it.
    #[must_use]
    pub fn needs(&self) -> &'static [Feature] {
        self.needs
    }

    /// Runs it on a new store. If the machine was paused while it failed, it runs again on another
    /// one.
    pub async fn run<F: Fixture>(&self, fixture: impl AsyncFn() -> F) {
        unless_stalled(async || {
            let store = fixture().await;
            if self.needs.iter().all(|need| store.supports(*need)) {
                (self.body)(StoreUnderTest::new(Arc::new(store))).await;
            }
        })
        .await;
    }
}

/// All cases.
#[must_use]
pub fn cases() -> &'static [Case] {
    CASES
}

/// The case of this name.
#[must_use]
pub fn case(name: &str) -> Case {
    let found = CASES.iter().find(|case| case.name == name);
    *found.unwrap_or_else(|| panic!("there is no conformance case {name}"))
}

/// Runs every case that the store supports, each on a new store, and panics with the names of those
/// that failed. Returns how many ran.
pub async fn run<F: Fixture>(fixture: impl AsyncFn() -> F) -> usize {
    let store = fixture().await;
    let supported = |case: &&Case| case.needs.iter().all(|need| store.supports(*need));
    let runs = CASES.iter().filter(supported).map(async |case| {
        let run = AssertUnwindSafe(case.run(&fixture)).catch_unwind().await;
        run.map_err(|why| format!("{}: {}", case.name, message(&*why)))
    });
    let runs: Vec<_> = stream::iter(runs).buffer_unordered(AT_ONCE).collect().await;
    let count = runs.len();
    let failed: Vec<_> = runs.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} of {count} cases failed:\n{}", failed.len(), failed.join("\n"));
    count
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}
