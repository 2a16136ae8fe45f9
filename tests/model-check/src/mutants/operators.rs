//! Scripts that break what operators rely on: what is inspected, the memory limit, evictions.

use super::{Mutant, of};

pub(super) const MUTANTS: &[Mutant] = &[
    of(
        "a dead waiter is inspected",
        "fair: two",
        "common/inspect",
        "    if left(entry) > 0 then\n",
        "    if left(entry) then\n",
    ),
    of(
        "waiters are inspected as readers",
        "fair: two",
        "common/inspect",
        "MOST_VISITED - 1), 'write', function",
        "MOST_VISITED - 1), 'read', function",
    ),
    of(
        "native: a dead waiter is inspected",
        "native fair: two",
        "native/inspect",
        "  if left_of(s, place) > 0 then\n",
        "  if left_of(s, place) then\n",
    ),
    of(
        "native: readers are inspected as writers",
        "native read/write: two",
        "native/inspect",
        "is_reader(place) and 'read' or 'write'",
        "'write'",
    ),
    of(
        "at the memory limit no permit is renewed",
        "semaphore: memory limit",
        "semaphore/renew",
        "  redis.call('persist', leases)\n",
        "",
    ),
    of(
        "native: at the memory limit no lock with waiters is released",
        "native reentrant: memory limit",
        "native/lib/value",
        "  redis.call('zrem', s.ends, '')\n",
        "",
    ),
    of(
        "native: at the memory limit a release fails after the lease",
        "native reentrant: memory limit",
        "native/release",
        "  if changed or s.ended > 0 then begin_write(s) end\n",
        "",
    ),
    of(
        "native: tokens of an evicted counter do not look at the clock",
        "native reentrant: eviction",
        "native/lib/token",
        "floor + 1, (now_us()))",
        "floor + 1)",
    ),
];
