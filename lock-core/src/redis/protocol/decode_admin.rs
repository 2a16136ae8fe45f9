//! Replies to an operator's commands.

use lock_store::{
    ForcedRelease, HolderSnapshot, Holds, LockSnapshot, Mode, Unavailable, WaiterSnapshot,
};

use super::decode::Reply;

impl Reply {
    pub(crate) fn snapshot(&self) -> Result<Option<LockSnapshot>, Unavailable> {
        match self.status()? {
            "STATE" => {}
            "WRONG_KIND" => return Ok(None),
            _ => return Err(self.strange()),
        }
        let holders = self.list(8).map(|holder| {
            let count = |at| holder.number(at).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            let holds = Holds { read: count(1), write: count(2) };
            HolderSnapshot::new(holder.text(0).unwrap_or_default(), holds, holder.span(3))
        });
        let waiters = self.list(9).map(|waiter| {
            let mode = waiter.mode(1).unwrap_or(Mode::Write);
            WaiterSnapshot::new(waiter.text(0).unwrap_or_default(), mode)
        });
        let holders: Vec<_> = holders.collect();
        let is_semaphore = self.text(2) == Some("semaphore");
        // The holder of a permit holds it alone, which the script does not report as a mode.
        let permit = (is_semaphore && !holders.is_empty()).then_some(Mode::Write);
        let mut snapshot = LockSnapshot::default();
        snapshot.kind = match self.text(2).unwrap_or_default() {
            "" => None,
            name => Some(name.parse().map_err(|_| self.strange())?),
        };
        snapshot.mode = self.mode(3).or(permit);
        snapshot.remaining = self.span(4);
        snapshot.free_permits = self.number(5).filter(|_| is_semaphore);
        snapshot.token = self.token(6)?;
        snapshot.complete = self.number(7) == Some(1);
        (snapshot.holders, snapshot.waiters) = (holders, waiters.collect());
        Ok(Some(snapshot))
    }

    pub(crate) fn forced(&self) -> Result<Option<ForcedRelease>, Unavailable> {
        match self.status()? {
            status @ ("FREED" | "GONE") => {
                Ok(Some(ForcedRelease::new(status == "FREED", self.token(2)?)))
            }
            "WRONG_KIND" => Ok(None),
            _ => Err(self.strange()),
        }
    }

    /// The number of holders that were requested to release.
    pub(crate) fn requested(&self) -> Result<Option<u32>, Unavailable> {
        let number = self.number(2).and_then(|number| u32::try_from(number).ok());
        match (self.status()?, number) {
            ("ASKED", Some(number)) => Ok(Some(number)),
            ("WRONG_KIND", _) => Ok(None),
            _ => Err(self.strange()),
        }
    }

    /// How many permits are free for a client that counts `permits` in total.
    pub(crate) fn free_permits(&self, permits: u32) -> Result<Option<i64>, Unavailable> {
        match (self.status()?, self.number(2)) {
            ("RESIZED", Some(free)) => Ok(Some(free)),
            ("COUNTED", Some(in_use)) => Ok(Some(i64::from(permits).saturating_sub(in_use))),
            ("WRONG_KIND", _) => Ok(None),
            _ => Err(self.strange()),
        }
    }
}
