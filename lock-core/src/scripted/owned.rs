//! Steps that outlive those who asked for them.

use std::time::Duration;

use crate::{
    Kind, LockKey, Mode,
    backend::{AcquireStep, ConvertStep, Holder, Holds, ReleaseStep, RenewStep},
    owner::OwnerId,
};

#[derive(Debug)]
pub(super) struct Of {
    kind: Kind,
    key: LockKey,
    pub(super) owner: OwnerId,
}

impl Of {
    pub(super) fn holder(holder: &Holder<'_>) -> Self {
        Self { kind: holder.kind, key: holder.key.clone(), owner: holder.owner.clone() }
    }

    pub(super) fn lent(&self) -> Holder<'_> {
        Holder { kind: self.kind, key: &self.key, owner: &self.owner }
    }
}

#[derive(Debug)]
pub(super) struct Acquire {
    pub(super) of: Of,
    mode: Mode,
    holds: u32,
    lease: Duration,
    yields: bool,
    place: Option<Duration>,
    waited: Duration,
    turns: u32,
    permits: u32,
}

impl Acquire {
    pub(super) fn step(step: &AcquireStep<'_>) -> Self {
        let AcquireStep {
            kind,
            key,
            owner,
            mode,
            holds,
            lease,
            yields,
            place,
            waited,
            turns,
            permits,
        } = *step;
        let of = Of::holder(&Holder { kind, key, owner });
        Self { of, mode, holds, lease, yields, place, waited, turns, permits }
    }

    pub(super) fn lent(&self) -> AcquireStep<'_> {
        let Holder { kind, key, owner } = self.of.lent();
        let Self { mode, holds, lease, yields, place, waited, turns, permits, .. } = *self;
        AcquireStep { kind, key, owner, mode, holds, lease, yields, place, waited, turns, permits }
    }
}

#[derive(Debug)]
pub(super) struct Release {
    pub(super) of: Of,
    mode: Mode,
    holds: u32,
    in_line: bool,
}

impl Release {
    pub(super) fn step(step: &ReleaseStep<'_>) -> Self {
        let ReleaseStep { holder, mode, holds, in_line } = *step;
        Self { of: Of::holder(&holder), mode, holds, in_line }
    }

    pub(super) fn lent(&self) -> ReleaseStep<'_> {
        let Self { mode, holds, in_line, .. } = *self;
        ReleaseStep { holder: self.of.lent(), mode, holds, in_line }
    }
}

#[derive(Debug)]
pub(super) struct Renew {
    pub(super) of: Of,
    lease: Duration,
}

impl Renew {
    pub(super) fn step(step: &RenewStep<'_>) -> Self {
        Self { of: Of::holder(&step.holder), lease: step.lease }
    }

    pub(super) fn lent(&self) -> RenewStep<'_> {
        RenewStep { holder: self.of.lent(), lease: self.lease }
    }
}

#[derive(Debug)]
pub(super) struct Convert {
    pub(super) of: Of,
    after: Holds,
    lease: Duration,
}

impl Convert {
    pub(super) fn step(step: &ConvertStep<'_>) -> Self {
        Self { of: Of::holder(&step.holder), after: step.after, lease: step.lease }
    }

    pub(super) fn lent(&self) -> ConvertStep<'_> {
        ConvertStep { holder: self.of.lent(), after: self.after, lease: self.lease }
    }
}
