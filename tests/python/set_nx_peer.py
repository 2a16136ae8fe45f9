"""Executes the lines of its standard input with libraries that take a lock by SET NX, the kinds of a line.

A wait is in whole seconds, as python-redis-lock counts it; without one a lock is tried once.
"""

import os

import redis
import redis_lock
from pottery import Redlock
from pottery.exceptions import ReleaseUnlockedLock
from redis.lock import Lock

from lines import serve

TTL_S = 600
client = redis.Redis.from_url(os.environ["REDIS_URL"])

LIBRARIES = {
    "redis-py": lambda key: Lock(client, f"lock:{key}", timeout=TTL_S),
    "pottery": lambda key: Redlock(key=key, masters={client}, auto_release_time=TTL_S),
    "python-redis-lock": lambda key: redis_lock.Lock(client, key, expire=TTL_S),
    "python-redis-lock-without-ttl": lambda key: redis_lock.Lock(client, key),
}
NOT_HELD = (redis.exceptions.LockError, ReleaseUnlockedLock, redis_lock.NotAcquired)


class Locks:
    """The locks of one thread of the test, each of which it holds or not."""

    def __init__(self):
        self.locks = {}

    def acquire(self, library, key, wait_s="0"):
        lock, wait = LIBRARIES[library](key), int(wait_s)
        if not wait:
            held = lock.acquire(blocking=False)
        elif library == "redis-py":
            held = lock.acquire(blocking_timeout=wait)
        else:
            held = lock.acquire(timeout=wait)
        if held:
            self.locks[library, key] = lock
        return "held" if held else "busy"

    def release(self, library, key):
        try:
            self.locks.pop((library, key)).release()
            return "released"
        except NOT_HELD:
            return "gone"

    def reset_all(self, _library, _key):
        redis_lock.reset_all(client)
        return "done"


serve(Locks)
