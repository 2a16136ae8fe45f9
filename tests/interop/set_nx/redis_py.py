"""Workers that take one lock by redis-py's Lock: see tests/src/bin/set_nx_peers.rs."""

import sys
import threading
import time

import redis
from redis.lock import Lock

url, key, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
turns, longest = [0, 0], [0.0, 0.0]


def work(number):
    client = redis.Redis.from_url(url)
    while int(client.get("count") or 0) < most:
        began = time.monotonic()
        lock = Lock(client, key, timeout=60, sleep=0.1)
        lock.acquire(blocking=True)
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
