//! Connections that may stand still: WAIT holds up whatever is behind it on its connection, and
//! counts what was written over its own.
//!
//! One that is given up with a command under way is killed by its number before anything else is
//! asked of the server, like a lost connection for commands.

use std::sync::Arc;

use redis::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::{Failure, Identity, Told, Wire};
use crate::{
    runtime::sync::Mutex,
    store::redis::{
        connect::{ErrorClass, Target, classify},
        protocol::{Manner, Question},
    },
};

/// How many acquisitions may wait for replicas at once; more of them queue.
const MOST: usize = 8;

#[derive(Debug)]
pub(crate) struct SideWires {
    free: Semaphore,
    /// With the server that each leads to: another one may be the primary by now.
    idle: Mutex<Vec<(Arc<Target>, Wire)>>,
    /// Given up, and Redis has not been told yet.
    doomed: Mutex<Vec<Identity>>,
}

impl Default for SideWires {
    fn default() -> Self {
        Self { free: Semaphore::new(MOST), idle: Mutex::default(), doomed: Mutex::default() }
    }
}

impl SideWires {
    /// Closes those that nobody uses.
    pub(crate) fn close(&self) {
        self.idle.lock().clear();
    }

    /// One connection for one command. It fails when the server takes no more of them.
    pub(crate) async fn take(&self, target: &Arc<Target>) -> Result<SideWire<'_>, Failure> {
        let permit = self.free.acquire().await.map_err(|_| Failure::Dead)?;
        let known = loop {
            match self.idle.lock().pop() {
                Some((to, wire)) if Arc::ptr_eq(&to, target) && !wire.dead.is_cancelled() => {
                    break Some(wire);
                }
                Some(_) => {}
                None => break None,
            }
        };
        let wire = match known {
            Some(wire) => wire,
            None => Wire::open(target).await.map_err(|why| {
                tracing::debug!(redis = %target.address, %why, "no further connection");
                Failure::Dead
            })?,
        };
        let wire = Some((Arc::clone(target), wire));
        Ok(SideWire { wires: self, wire, answered: false, _permit: permit })
    }

    /// Whether something was given up that Redis has not ended yet.
    pub(crate) fn has_doomed(&self) -> bool {
        !self.doomed.lock().is_empty()
    }

    /// Has Redis end what was given up, before `wire` is asked anything.
    pub(crate) async fn bury(&self, wire: &Wire) {
        let doomed = self.doomed.lock().clone();
        for identity in doomed {
            if let Err(Failure::Dead) = wire.query::<i64>(&identity.kill()).await {
                return;
            }
            self.doomed.lock().retain(|other| *other != identity);
        }
    }
}

/// A connection of one's own.
pub(crate) struct SideWire<'a> {
    wires: &'a SideWires,
    wire: Option<(Arc<Target>, Wire)>,
    answered: bool,
    _permit: SemaphorePermit<'a>,
}

impl SideWire<'_> {
    /// A connection whose answer is not accepted, or whose server is no primary, is not used again.
    pub(crate) async fn ask(
        mut self,
        question: &Question<'_>,
        manner: Manner,
        accepted: impl Fn(&Value) -> bool,
    ) -> Result<Told, Failure> {
        let Some((_, wire)) = &self.wire else {
            return Err(Failure::Dead);
        };
        let answer = wire.ask(question, manner).await;
        self.answered = match &answer {
            Ok(told) => accepted(&told.answer),
            Err(Failure::Answered(error)) => {
                !matches!(classify(error), ErrorClass::Transient { replace: true, .. })
            }
            Err(Failure::Dead) => false,
        };
        answer
    }
}

impl Drop for SideWire<'_> {
    fn drop(&mut self) {
        let Some((target, wire)) = self.wire.take() else {
            return;
        };
        if self.answered && !wire.dead.is_cancelled() {
            self.wires.idle.lock().push((target, wire));
        } else if let Some(identity) = &wire.identity {
            self.wires.doomed.lock().push(identity.clone());
        }
    }
}
