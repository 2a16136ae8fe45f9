//! Mutants of the native wire's line in the lock's value, and of the fast paths that know it.

use super::{Mutant, of};

const ACQUIRE: &str = "native/fast_path/acquire";
const RELEASE: &str = "native/fast_path/release";
const TWO: &str = "native reentrant: two";
const THREE: &str = "native reentrant: three";
const READERS: &str = "native read/write: three";

pub(super) const MUTANTS: &[Mutant] = &[
    of(
        "native quick: a held lock is taken",
        TWO,
        ACQUIRE,
        "    elseif not held and not ahead and at then\n",
        "    elseif not ahead and at then\n",
    ),
    of(
        "native quick: a waiter passes another",
        THREE,
        ACQUIRE,
        "    if ahead and at and at <= ahead then ahead = false end\n",
        "    if ahead and at then ahead = false end\n",
    ),
    of(
        "native quick: a reader passes a writer",
        READERS,
        ACQUIRE,
        "letter == 'r' and string.find(value, '|w:', from, true) or",
        "",
    ),
    of(
        "native quick: a place that is over is waited for",
        "native reentrant: a waiter that is dead",
        ACQUIRE,
        "first_ends and first_ends <= now_text or ahead_ends and ahead_ends <= now_text or ",
        "",
    ),
    of(
        "native quick: the deadline is ignored",
        TWO,
        ACQUIRE,
        " or deadline and deadline <= now_text then",
        " then",
    ),
    of(
        "native quick: a token is the last one again",
        TWO,
        ACQUIRE,
        "math.max(stored + 1, floor + 1, time[1] * 1000000 + time[2])\n      -- A reader",
        "math.max(stored, floor)\n      -- A reader",
    ),
    of(
        "native quick: a waiter that takes a lock stays in line",
        TWO,
        ACQUIRE,
        "local line = string.sub(value, from, at - 1) .. string.sub(value, behind)",
        "local line = string.sub(value, from)",
    ),
    of(
        "native quick: a waiter is in line twice",
        TWO,
        ACQUIRE,
        "    local at = string.find(value, own, from, true)\n",
        "    local at = not held and string.find(value, own, from, true)\n",
    ),
    of(
        "native quick: the first waiter shortens the lease",
        TWO,
        ACQUIRE,
        "string.format('%d', now + math.max(ttl_ms, 1))",
        "string.format('%d', now + 1)",
    ),
    of(
        "native quick: a reader joins before a writer that waits",
        READERS,
        ACQUIRE,
        "  and redis.call('exists', KEYS[2]) == 0 and not redis.call",
        "  and not redis.call",
    ),
    of(
        "native quick: a release does not look at the owner",
        TWO,
        RELEASE,
        "string.sub(value, 1, #own) == own then",
        "string.sub(value, 1, 4) == string.sub(own, 1, 4) then",
    ),
    of(
        "native quick: a release notifies no waiter",
        TWO,
        RELEASE,
        "for at = 1, #messages, 2 do",
        "for at = 2, 1 do",
    ),
    of(
        "native quick: one reader alone is woken",
        READERS,
        RELEASE,
        "until string.sub(place, 2, 2) ~= 'r' or",
        "until true or",
    ),
    of(
        "native quick: a writer behind readers is woken too",
        READERS,
        RELEASE,
        "or string.sub(value, to, to + 2) ~= '|r:'",
        "or to > #value",
    ),
    of(
        "native quick: a reserved place is not cut",
        TWO,
        RELEASE,
        "(ends < reserved and ends or reserved)",
        "ends",
    ),
    of(
        "native quick: the last of several readers leaves the lock held",
        "native read/write: two",
        RELEASE,
        "tonumber(last[4] or 0) > now and",
        "",
    ),
    of(
        "native: the line in the value is overlooked",
        TWO,
        "native/lib/value",
        "if line then read_short_line(s, line) else",
        "if line then s.waited = false else",
    ),
    of(
        "native: a line that grows loses its order",
        "native growing line: three",
        "native/lib/short_line",
        "string.format('%.0f', number + at)",
        "string.format('%.0f', number)",
    ),
    of(
        "native: a line that shrinks loses a waiter",
        "native growing line: three",
        "native/lib/short_line",
        "if ends > now_ms() then s.places",
        "if false then s.places",
    ),
    of(
        "native: a line that grows has no TTL",
        "native growing line: three",
        "native/lib/short_line",
        "    if redis.call('pttl', key) < lives_ms then redis.call('pexpire', key, lives_ms) end\n",
        "",
    ),
    of("native: a renewal forgets the line in the value", TWO, "native/renew", ".. line\n", "\n"),
];
