//! Every step of the store, by way of the line.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    Question,
    line::Line,
    owned::{Acquire, Convert, Of, Release, Renew},
};
use crate::{
    ClientInfo, Listing, LockKey, Mode,
    backend::{
        AcquireStep, Acquired, AcquiredAll, Answer, Backend, ConvertStep, Downgraded, Forced,
        Holder, Identity, ReleaseStep, Released, RenewStep, Renewal, Standing, StoreHealth, Topic,
        Upgraded, Wakeups,
    },
    error::Unavailable,
};

/// What the store says, which it does at once.
fn said<T>(answer: Answer<'_, T>) -> Result<T, Unavailable> {
    answer.now_or_never().expect("BUG: the store in memory waits for something")
}

impl Backend for Line {
    fn acquire<'a>(&'a self, step: &'a AcquireStep<'a>) -> Answer<'a, Acquired> {
        let step = Acquire::step(step);
        let owners = vec![step.of.owner.clone()];
        self.ask(Question::Acquire, owners, move |store| said(store.acquire(&step.lent())))
    }

    fn in_one_step(&self, _keys: &[&LockKey]) -> bool {
        self.script.in_one_step()
    }

    fn acquire_all<'a>(&'a self, steps: &'a [AcquireStep<'a>]) -> Answer<'a, AcquiredAll> {
        let steps: Vec<_> = steps.iter().map(Acquire::step).collect();
        let owners = steps.iter().map(|step| step.of.owner.clone()).collect();
        self.ask(Question::Acquire, owners, move |store| {
            let steps: Vec<_> = steps.iter().map(Acquire::lent).collect();
            said(store.acquire_all(&steps))
        })
    }

    fn release<'a>(&'a self, step: &'a ReleaseStep<'a>) -> Answer<'a, Released> {
        let step = Release::step(step);
        let owners = vec![step.of.owner.clone()];
        self.ask(Question::Release, owners, move |store| said(store.release(&step.lent())))
    }

    fn shard(&self, key: &LockKey) -> u16 {
        self.store.shard(key)
    }

    fn renew<'a>(&'a self, mode: Mode, steps: &'a [RenewStep<'a>]) -> Answer<'a, Vec<Renewal>> {
        let steps: Vec<_> = steps.iter().map(Renew::step).collect();
        let owners = steps.iter().map(|step| step.of.owner.clone()).collect();
        self.ask(Question::Renew, owners, move |store| {
            let steps: Vec<_> = steps.iter().map(Renew::lent).collect();
            said(store.renew(mode, &steps))
        })
    }

    fn upgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Upgraded> {
        let step = Convert::step(step);
        let owners = vec![step.of.owner.clone()];
        self.ask(Question::Upgrade, owners, move |store| said(store.upgrade(&step.lent())))
    }

    fn downgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Downgraded> {
        let step = Convert::step(step);
        let owners = vec![step.of.owner.clone()];
        self.ask(Question::Downgrade, owners, move |store| said(store.downgrade(&step.lent())))
    }

    fn inspect<'a>(&'a self, key: &'a LockKey) -> Answer<'a, Option<Standing>> {
        let key = key.clone();
        self.ask(Question::Other, Vec::new(), move |store| said(store.inspect(&key)))
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> Answer<'a, Listing> {
        let prefix = prefix.to_owned();
        self.ask(Question::Other, Vec::new(), move |store| said(store.list(&prefix, limit)))
    }

    fn client_names<'a>(&'a self, clients: &'a [String]) -> Answer<'a, Vec<Option<ClientInfo>>> {
        let clients = clients.to_vec();
        self.ask(Question::Other, Vec::new(), move |store| said(store.client_names(&clients)))
    }

    fn force_release<'a>(&'a self, key: &'a LockKey) -> Answer<'a, Option<Forced>> {
        let key = key.clone();
        self.ask(Question::Other, Vec::new(), move |store| said(store.force_release(&key)))
    }

    fn request_release<'a>(&'a self, key: &'a LockKey) -> Answer<'a, Option<u32>> {
        let key = key.clone();
        self.ask(Question::Other, Vec::new(), move |store| said(store.request_release(&key)))
    }

    fn release_requested<'a>(&'a self, holder: &'a Holder<'a>) -> Answer<'a, bool> {
        let of = Of::holder(holder);
        self.ask(Question::Other, Vec::new(), move |store| {
            said(store.release_requested(&of.lent()))
        })
    }

    fn set_permits<'a>(
        &'a self,
        key: &'a LockKey,
        permits: u32,
        only_missing: bool,
    ) -> Answer<'a, Option<i64>> {
        let key = key.clone();
        self.ask(Question::Other, Vec::new(), move |store| {
            said(store.set_permits(&key, permits, only_missing))
        })
    }

    fn wakeups(&self, topic: Topic<'_>) -> Wakeups {
        self.hear(self.store.wakeups(topic))
    }

    fn link(&self) -> Result<(), Unavailable> {
        self.store.link()
    }

    fn identity(&self) -> Answer<'_, Identity> {
        let identity = said(Backend::identity(&self.store));
        self.ask(Question::Other, Vec::new(), move |_| identity)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        let asked = self.ask(Question::Other, Vec::new(), |store| store.link());
        let told = |answer: Result<(), Unavailable>| StoreHealth {
            kind: "scripted",
            round_trip: answer.map(|()| Duration::ZERO),
            warnings: Vec::new(),
        };
        asked.map(told).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.store.close()
    }
}
