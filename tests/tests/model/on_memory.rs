//! The store in memory on a paused clock: a history takes no time.

use std::time::Duration;

use lock_core::LockClient;
use proptest::{
    prelude::ProptestConfig,
    test_runner::{TestCaseError, TestRunner},
};

use crate::{
    compare::Subject,
    history::{Failure, Family, History},
    plan::{Plan, plan},
    seeded,
};

const UNIT: Duration = Duration::from_millis(100);

pub(crate) fn agrees(family: Family, histories: usize) {
    let config = ProptestConfig {
        cases: u32::try_from(histories).unwrap(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let tried = TestRunner::new_with_rng(config, seeded()).run(&History::any(family), |history| {
        let why = run(&plan(&history));
        why.map_err(|why| TestCaseError::fail(format!("{why}\n{}", history.until_it_fails(&why))))
    });
    if let Err(failure) = tried {
        panic!("{failure}");
    }
}

fn run(plan: &Plan) -> Result<(), Failure> {
    let mut clock = tokio::runtime::Builder::new_current_thread();
    let clock = clock.enable_time().start_paused(true).build().unwrap();
    clock.block_on(async {
        let client = LockClient::in_memory();
        let mut subject =
            Subject::new(&client, plan.kind, "k", plan.owners, (UNIT, Duration::ZERO));
        let mut now = 0;
        for planned in &plan.steps {
            tokio::time::advance(UNIT * u32::try_from(planned.at - now).unwrap()).await;
            now = planned.at;
            let before = subject.told();
            let at = |why: String| Failure::new(planned, &why);
            subject.take(planned).await.map_err(at)?;
            let after = subject.told();
            if let Some(asleep) =
                planned.told.iter().find(|owner| after[**owner] == before[**owner])
            {
                return Err(at(format!("{asleep} can enter now and is not told")));
            }
        }
        Ok(())
    })
}
