"""Workers that take one lock by a library of Python: see tests/src/bin/set_nx_peers.rs."""

import logging
import sys
import threading
import time

import redis
import redis_lock
from pottery import Redlock
from redis.lock import Lock

library, url, key, most = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
turns, longest = [0, 0], [0.0, 0.0]
# It warns of every try that fails.
logging.getLogger("redis_lock").setLevel(logging.ERROR)


def take(client):
    if library == "pottery":
        lock = Redlock(key=key.removeprefix("redlock:"), masters={client}, auto_release_time=60)
        lock.acquire()
    elif library == "python-redis-lock":
        # Its own wait ends with a signal of Python's, which a release in Rust does not send.
        lock = redis_lock.Lock(client, key.removeprefix("lock:"), expire=60)
        while not lock.acquire(blocking=False):
            time.sleep(0.1)
    else:
        lock = Lock(client, key, timeout=60, sleep=0.1)
        lock.acquire(blocking=True)
    return lock


def work(number):
    client = redis.Redis.from_url(url)
    while int(client.get("count") or 0) < most:
        began = time.monotonic()
        lock = take(client)
        longest[number] = max(longest[number], time.monotonic() - began)
        # A critical section that is not atomic: two at once lose one.
        client.set("count", int(client.get("count") or 0) + 1)
        lock.release()
        turns[number] += 1


workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(sum(turns), round(max(longest) * 1000))
