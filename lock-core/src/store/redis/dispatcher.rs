//! From a question to its answer: over which connection, how often, and for how long.

use std::{fmt, sync::Arc, time::Duration};

use redis::{RedisError, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    cluster::Cluster,
    connect::{Endpoint, ErrorClass, Target, classify, reason},
    connection::{ClientName, Failure, Link, REFRESH, Told, Wire},
    protocol::{Manner, Question, Replicas, slot_of},
    pubsub::Ear,
};
use crate::types::Unavailable;

/// Before a command that Redis refused for a passing reason is sent again.
const PASSING: Duration = Duration::from_millis(25);

/// To whom the keys of a client are.
#[derive(Debug)]
pub(crate) enum Way {
    One(Arc<Link>),
    Cluster(Arc<Cluster>),
}

#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) way: Way,
    pub(crate) command_timeout: Duration,
    /// What listens, where the way has no ears of its own.
    ear: Option<Arc<Ear>>,
    closed: CancellationToken,
}

impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::One(link) => write!(f, "Redis at {}", link.address()),
            Way::Cluster(cluster) => cluster.fmt(f),
        }
    }
}

/// An answer, and whether the question may have been carried out more than once.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) answer: Value,
    pub(crate) again: bool,
    /// How many replicas have what was written, where that was asked.
    pub(crate) replicas: Option<i64>,
}

/// How far a question has come.
#[derive(Default)]
struct Course {
    again: bool,
    last: Option<(Arc<Wire>, Instant)>,
    refusal: Option<Unavailable>,
    /// The node that is about to take the slot over.
    asking: Option<Endpoint>,
    redirected: u32,
}

impl Routes {
    pub(crate) fn new(way: Way, ear: Option<Arc<Ear>>, command_timeout: Duration) -> Self {
        Self { way, command_timeout, ear, closed: CancellationToken::new() }
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
        if let Some(ear) = &self.ear {
            ear.close();
        }
        match &self.way {
            Way::One(link) => link.close(),
            Way::Cluster(cluster) => cluster.close(),
        }
    }

    /// Whether there is a connection.
    pub(crate) fn check(&self) -> Result<(), Unavailable> {
        match &self.way {
            Way::One(link) => link.check(),
            Way::Cluster(cluster) => cluster.check(),
        }
    }

    /// Asks until there is an answer or the command timeout is over. What is asked must be safe to
    /// ask again, or say that it is not: when a connection ends, nobody knows what was carried out.
    /// An answer that `check` does not accept ends its connection.
    pub(crate) async fn ask(
        &self,
        slot: u16,
        question: &Question<'_>,
        replicas: Option<Replicas>,
        check: impl Fn(&Value) -> Result<(), Unavailable> + Send + Sync,
    ) -> Result<Answered, Unavailable> {
        let limit = self.command_timeout + replicas.map_or(Duration::ZERO, |each| each.timeout);
        let mut course = Course::default();
        let answered = tokio::time::timeout(limit, async {
            tokio::select! {
                biased;
                () = self.closed.cancelled() => {
                    Err(Unavailable::unsent("the lock client is shut down"))
                }
                answered = self.pursue(slot, question, replicas, check, &mut course) => answered,
            }
        })
        .await;
        answered.unwrap_or_else(|_| Err(self.ran_out(slot, course, limit)))
    }

    /// Keeps the client's name in a cluster until this is closed; a single link does it by itself.
    pub(crate) async fn keep_name(self: Arc<Self>, name: Arc<ClientName>) {
        let slot = slot_of(name.key.as_bytes());
        while !self.closed.is_cancelled() {
            let write = name.write();
            if let Err(why) = self.ask(slot, &Question::Command(&write), None, |_| Ok(())).await {
                // Not every user may write it, and locks work without.
                tracing::debug!(%why, "cannot write the client's name");
            }
            let _ = tokio::time::timeout(REFRESH, self.closed.cancelled()).await;
        }
    }

    async fn pursue(
        &self,
        slot: u16,
        question: &Question<'_>,
        replicas: Option<Replicas>,
        check: impl Fn(&Value) -> Result<(), Unavailable> + Send + Sync,
        course: &mut Course,
    ) -> Result<Answered, Unavailable> {
        loop {
            let asking = course.asking.take();
            let manner = Manner { asking: asking.is_some(), replicas };
            let (link, target, wire) = self.reach(slot, asking).await;
            course.last = Some((Arc::clone(&wire), Instant::now()));
            // What is rare has memory of its own: thousands may wait for an answer.
            if link.side.has_doomed() {
                Box::pin(link.side.bury(&wire)).await;
            }
            let sent = replicas.is_some() || !wire.dead.is_cancelled();
            let answer = match replicas {
                None => {
                    course.last = Some((Arc::clone(&wire), Instant::now()));
                    wire.ask(question, manner).await
                }
                Some(_) => {
                    // Over another connection: its silence says nothing of this one.
                    course.last = None;
                    let accepted = |answer: &Value| check(answer).is_ok();
                    Box::pin(aside(&link, &target, question, manner, accepted)).await
                }
            };
            match answer {
                Ok(Told { answer, replicas }) => match check(&answer) {
                    Ok(()) => return Ok(Answered { answer, again: course.again, replicas }),
                    Err(strange) => {
                        wire.dead.cancel();
                        return Err(strange);
                    }
                },
                Err(Failure::Dead) => {
                    course.again |= sent;
                    if let Way::Cluster(cluster) = &self.way {
                        cluster.doubt();
                    }
                }
                Err(Failure::Answered(error)) => {
                    Box::pin(self.refused(slot, error, &target, &wire, course)).await?;
                }
            }
            if question.once() && course.again {
                let why = "the connection was lost before an answer: it may have been done";
                return Err(course.refusal.take().unwrap_or_else(|| Unavailable::unsent(why)));
            }
        }
    }

    /// A connection to whoever has the slot, or to the node that is about to.
    async fn reach(
        &self,
        slot: u16,
        asking: Option<Endpoint>,
    ) -> (Arc<Link>, Arc<Target>, Arc<Wire>) {
        match &self.way {
            Way::One(link) => {
                let (target, wire) = match link.now() {
                    Some(up) => up,
                    None => Box::pin(link.wire()).await,
                };
                (Arc::clone(link), target, wire)
            }
            Way::Cluster(cluster) => Box::pin(cluster.reach(slot, asking)).await,
        }
    }

    /// Returns when the question may be put again.
    async fn refused(
        &self,
        slot: u16,
        error: RedisError,
        target: &Target,
        wire: &Wire,
        course: &mut Course,
    ) -> Result<(), Unavailable> {
        let text = reason(&error);
        let refusal = match (classify(&error), &self.way) {
            (ErrorClass::Moved(to), Way::Cluster(cluster)) => {
                cluster.moved(slot, Endpoint::parse(&to, &target.endpoint));
                course.redirected += 1;
                // A node may be wrong about where a slot went, and be told so in a moment.
                if course.redirected == 1 { None } else { Some((false, false)) }
            }
            (ErrorClass::Ask(to), Way::Cluster(_)) => {
                course.asking = Endpoint::parse(&to, &target.endpoint);
                course.redirected += 1;
                if course.redirected == 1 { None } else { Some((false, false)) }
            }
            (ErrorClass::Moved(_) | ErrorClass::Ask(_), Way::One(_)) => {
                let hint = "this is one node of a cluster: connect with redis+cluster://";
                return Err(Unavailable::because(format!("{hint} ({text})"), error));
            }
            (ErrorClass::Transient { replace, halfway }, _) => Some((replace, halfway)),
            (ErrorClass::Permanent, _) => return Err(Unavailable::because(text, error)),
        };
        course.refusal = Some(Unavailable::because(text, error));
        let Some((replace, halfway)) = refusal else {
            return Ok(());
        };
        course.again |= halfway;
        if replace {
            wire.dead.cancel();
        }
        if let Way::Cluster(cluster) = &self.way {
            cluster.doubt();
        }
        tokio::time::sleep(PASSING).await;
        Ok(())
    }

    fn ran_out(&self, slot: u16, course: Course, limit: Duration) -> Unavailable {
        // A connection that came up a moment ago has not been silent for long.
        if let Some((wire, sent)) = course.last
            && sent.elapsed() >= limit.mul_f64(0.9)
        {
            wire.silent_since(sent);
        }
        let mut why = course.refusal.or(self.check().err());
        if let Way::Cluster(cluster) = &self.way {
            cluster.doubt();
            why = why.or_else(|| cluster.why_not(slot));
        }
        let why = why.unwrap_or_else(|| {
            Unavailable::unsent(format!("no answer from {self} within {limit:?}"))
        });
        why.silence()
    }
}

/// Asks over a connection that may stand still.
async fn aside(
    link: &Link,
    target: &Arc<Target>,
    question: &Question<'_>,
    manner: Manner,
    accepted: impl Fn(&Value) -> bool,
) -> Result<Told, Failure> {
    match link.side.take(target).await {
        Ok(side) => side.ask(question, manner, accepted).await,
        Err(failure) => {
            tokio::time::sleep(PASSING).await;
            Err(failure)
        }
    }
}
