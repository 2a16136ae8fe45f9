"""Executes the lines of its standard input with Kazoo, as the Java program in `tests/curator` does with Curator."""

import os

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock, WriteLock

from lines import serve

BASE = "/lock"
CROWD_WAITS_MS = 60_000


class CuratorMutex(Lock):
    """Named as Curator's contenders are: Curator, Kazoo and the Rust client all see each other."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


class CuratorWriteLock(Lock):
    _NODE_NAME = "-__WRIT__"
    _EXCLUDE_NAMES = ["-__READ__", "-__WRIT__"]


class CuratorReadLock(Lock):
    _NODE_NAME = "-__READ__"
    _EXCLUDE_NAMES = ["-__WRIT__"]


# Each kind's class, and what it must be given to see the contenders of the Rust client.
NAMED_BY_KAZOO = {
    "reentrant": (Lock, ["-lock-"]),
    "write": (WriteLock, ["-__READ__", "-__WRIT__"]),
    "read": (ReadLock, ["-__WRIT__"]),
}
NAMED_AS_CURATOR = {
    "reentrant": (CuratorMutex, []),
    "write": (CuratorWriteLock, []),
    "read": (CuratorReadLock, []),
}
LOCKS = NAMED_AS_CURATOR if os.environ["NAMES"] == "curator" else NAMED_BY_KAZOO


class Locks:
    """The locks of one thread of the test, each of which it holds or not."""

    def __init__(self, client):
        self.client = client
        self.locks = {}

    def acquire(self, kind, key, wait_ms, _lease_ms="0"):
        named, beside = LOCKS[kind]
        lock = named(self.client, f"{BASE}/{key}", "python", extra_lock_patterns=beside)
        wait = int(wait_ms) / 1000
        try:
            held = lock.acquire(timeout=wait) if wait else lock.acquire(blocking=False)
        except LockTimeout:
            held = False
        if held:
            self.locks[kind, key] = lock
        return "held" if held else "busy"

    def release(self, kind, key):
        lock = self.locks.pop((kind, key), None)
        return "released" if lock and lock.release() else "gone"

    def crowd(self, kind, key, counter, turns):
        """Increments a counter in steps that only the lock makes one; a reader checks that it stays."""
        for turn in range(int(turns)):
            if self.acquire(kind, key, CROWD_WAITS_MS) != "held":
                return f"busy in turn {turn}"
            count = read(counter)
            if kind != "read":
                with open(counter, "w", encoding="utf-8") as file:
                    file.write(str(count + 1))
            elif read(counter) != count:
                return f"read {count}, then another in turn {turn}"
            if self.release(kind, key) != "released":
                return f"gone in turn {turn}"
        return "done"


def read(counter):
    with open(counter, encoding="utf-8") as file:
        return int(file.read())


session = int(os.environ["SESSION_MS"]) / 1000
client = KazooClient(hosts=os.environ["ZOOKEEPER"], timeout=session)
client.start()
serve(lambda: Locks(client))
