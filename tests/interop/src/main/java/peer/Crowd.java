package peer;

import org.redisson.api.RBucket;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** Work that goes wrong unless the lock excludes. */
final class Crowd {
    private static final long WAIT = 60_000;

    private final Lock lock;
    private final RBucket<String> counter;

    Crowd(Lock lock, RedissonClient redisson, String counter) {
        this.lock = lock;
        this.counter = redisson.getBucket(counter, StringCodec.INSTANCE);
    }

    /** Counts up in steps that only the lock makes one; a reader looks that nobody does meanwhile. */
    String run(String kind, long turns) throws InterruptedException {
        for (long turn = 0; turn < turns; turn++) {
            var held = lock.acquire(WAIT, 0);
            if (held.equals("busy")) {
                throw new IllegalStateException("busy in turn " + turn);
            }
            var count = count();
            if (!kind.equals("read")) {
                counter.set(String.valueOf(count + 1));
            } else if (count() != count) {
                throw new IllegalStateException("read " + count + ", then another in turn " + turn);
            }
            var released = lock.release();
            if (!released.equals("released")) {
                throw new IllegalStateException(released + " in turn " + turn);
            }
        }
        return "done";
    }

    private long count() {
        var value = counter.get();
        return value == null ? 0 : Long.parseLong(value);
    }
}
