//! Calls of common/acquire_all, for locks of every kind under names of their own.

use crate::scripts::support::call::{Call, acquire_read, acquire_write};
use crate::scripts::support::keys::{CHANNEL, LOCK_CHANNEL, SEMAPHORE_CHANNEL, TURN};
use crate::scripts::support::waiter::{woken, woken_permit};
use crate::scripts::{
    fair::call as fair_call, fair_read_write::call as fair_rw_call, plain::call as plain_call,
    semaphore::call as semaphore_call,
};

/// One sort of member.
#[derive(Clone, Copy)]
pub(crate) struct Sort {
    pub(crate) acquire: fn(&str, u32) -> Call,
    /// Holds of an owner are counted.
    pub(crate) counted: bool,
    /// The keys that its release needs besides those of its acquire.
    more_keys: fn() -> Vec<String>,
    /// Another of this sort is in the way of the first.
    other: fn(&str, u32) -> Call,
    /// The channel and the message that wake the waiter `w:5`.
    pub(crate) reported: fn() -> (String, String),
}

pub(crate) const SORTS: [Sort; 7] = [
    Sort {
        acquire: acquire_read,
        counted: true,
        more_keys: || vec![],
        other: acquire_write,
        reported: || (CHANNEL.into(), woken("w:5", "0")),
    },
    Sort {
        acquire: acquire_write,
        counted: true,
        more_keys: || vec![],
        other: acquire_write,
        reported: || (CHANNEL.into(), woken("w:5", "1")),
    },
    Sort {
        acquire: plain_call::acquire,
        counted: true,
        more_keys: || vec![],
        other: plain_call::acquire,
        reported: || (LOCK_CHANNEL.into(), woken("w:5", "0")),
    },
    Sort {
        acquire: fair_call::acquire,
        counted: true,
        more_keys: || vec![],
        other: fair_call::acquire,
        reported: || (format!("{LOCK_CHANNEL}:w:5"), "0".into()),
    },
    Sort {
        acquire: |owner, holds| fair_rw_call::acquire("read", owner, holds),
        counted: true,
        more_keys: || vec![CHANNEL.into()],
        other: |owner, holds| fair_rw_call::acquire("write", owner, holds),
        reported: || (format!("{TURN}:w:5"), "1".into()),
    },
    Sort {
        acquire: |owner, holds| fair_rw_call::acquire("write", owner, holds),
        counted: true,
        more_keys: || vec![CHANNEL.into()],
        other: |owner, holds| fair_rw_call::acquire("write", owner, holds),
        reported: || (format!("{TURN}:w:5"), "1".into()),
    },
    Sort {
        acquire: |owner, _| {
            let (_, number) = owner.split_once(':').unwrap();
            semaphore_call::wait(number.parse().unwrap(), 1)
        },
        counted: false,
        more_keys: || vec![],
        other: |owner, _| {
            let (_, number) = owner.split_once(':').unwrap();
            semaphore_call::wait(number.parse().unwrap(), 1)
        },
        reported: || (SEMAPHORE_CHANNEL.into(), woken_permit(5, "1")),
    },
];

/// A lock of a name of its own.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) sort: Sort,
    pub(crate) name: &'static str,
    pub(crate) call: Call,
    more_keys: Vec<String>,
}

/// The same call for another lock.
fn of(name: &str, mut call: Call) -> Call {
    let renamed = |text: &String| text.replace("lock:k", name);
    call.keys = call.keys.iter().map(renamed).collect();
    call.args.iter_mut().for_each(|(_, value)| *value = renamed(value));
    call
}

impl Member {
    /// For the owner `a:1`.
    pub(crate) fn new(sort: Sort, name: &'static str, holds: u32) -> Self {
        let call = of(name, (sort.acquire)("a:1", holds));
        let more_keys = (sort.more_keys)().into_iter().map(|key| key.replace("lock:k", name));
        Self { sort, name, call, more_keys: more_keys.collect() }
    }

    /// Another owner's acquisition.
    pub(crate) fn other(&self) -> Call {
        of(self.name, (self.sort.other)("z:9", 1))
    }

    /// The same sort of hold for another owner.
    pub(crate) fn of_waiter(&self) -> Call {
        of(self.name, (self.sort.acquire)("w:5", 1))
    }

    pub(crate) fn reported(&self) -> (String, String) {
        let (channel, message) = (self.sort.reported)();
        (channel.replace("lock:k", self.name), message)
    }

    fn keys(&self) -> impl Iterator<Item = String> {
        [self.call.keys.clone(), self.more_keys.clone()].concat().into_iter()
    }

    fn args(&self) -> Vec<(&'static str, String)> {
        let args = self.call.said().to_vec();
        let count = |count: usize| ("count", count.to_string());
        let mut all = vec![("name", self.call.script.to_owned())];
        all.extend([count(self.keys().count()), count(args.len())]);
        all.extend(args);
        all
    }
}

pub(crate) fn acquire_all(members: &[Member]) -> Call {
    Call {
        script: "common/acquire_all",
        keys: members.iter().flat_map(Member::keys).collect(),
        args: members.iter().flat_map(Member::args).collect(),
    }
}
