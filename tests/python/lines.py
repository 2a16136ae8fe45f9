"""Executes the lines of standard input, for the other programs of this folder.

A line is `<id> <thread> <verb> <kind> <key> [arguments]`, its answer `#<id> <answer>`. Lines of one thread
are carried out in turn. When the input ends, so does the process, without releasing anything.
"""

import os
import queue
import sys
import threading

answering = threading.Lock()


def answer(number, text):
    with answering:
        print(f"#{number} {text}", flush=True)


class Thread:
    """A thread of the test. A verb is a method of its locks."""

    def __init__(self, locks):
        self.locks = locks
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            number, verb, arguments = self.lines.get()
            try:
                answer(number, getattr(self.locks, verb)(*arguments))
            except Exception as failed:
                answer(number, f"failed {failed!r}")


def serve(new_locks):
    """Gives each thread its locks, and returns never."""
    print("ready", flush=True)
    threads = {}
    for line in sys.stdin:
        number, thread, verb, *arguments = line.split()
        if thread not in threads:
            threads[thread] = Thread(new_locks())
        threads[thread].lines.put((number, verb, arguments))
    # Whatever is held stays so until it expires.
    os._exit(0)
