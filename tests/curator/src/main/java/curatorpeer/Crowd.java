package curatorpeer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Work that goes wrong unless the lock excludes. */
final class Crowd {
    private static final long WAIT = 60_000;

    private final Lock lock;
    private final Path counter;

    /** The counter is a file, so that the servers which keep the lock say nothing about it. */
    Crowd(Lock lock, Path counter) {
        this.lock = lock;
        this.counter = counter;
    }

    /** Increments the counter in steps that only the lock makes one; a reader checks that it stays. */
    String run(String kind, long turns) throws Exception {
        for (long turn = 0; turn < turns; turn++) {
            if (!lock.acquire(WAIT)) {
                throw new IllegalStateException("busy in turn " + turn);
            }
            var count = count();
            if (!kind.endsWith("read")) {
                Files.writeString(counter, String.valueOf(count + 1));
            } else if (count() != count) {
                throw new IllegalStateException("read " + count + ", then another in turn " + turn);
            }
            if (!lock.release()) {
                throw new IllegalStateException("gone in turn " + turn);
            }
        }
        return "done";
    }

    private long count() throws IOException {
        return Long.parseLong(Files.readString(counter));
    }
}
