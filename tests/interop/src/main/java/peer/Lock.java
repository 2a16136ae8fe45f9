package peer;

import org.redisson.api.RedissonClient;

/** One name as one kind, in the words of the answers. Times are in milliseconds. */
interface Lock {
    /** {@code held}, with a token or a permit where there is one, or {@code busy}. A lease of 0: the watchdog's. */
    String acquire(long wait, long lease) throws InterruptedException;

    /** {@code released}, or {@code gone} when the thread has none. */
    String release();

    /** How often the thread has it. */
    int holds();

    /** Whether anybody has it. */
    boolean locked();

    /** Takes it from whoever has it, and says whether anybody had. */
    boolean force();

    static Lock of(RedissonClient redisson, String kind, String key) {
        return switch (kind) {
            case "reentrant" -> new PlainLock(redisson.getLock(key));
            case "fair" -> new PlainLock(redisson.getFairLock(key));
            case "read" -> new PlainLock(redisson.getReadWriteLock(key).readLock());
            case "write" -> new PlainLock(redisson.getReadWriteLock(key).writeLock());
            case "fenced" -> new FencedLock(redisson.getFencedLock(key));
            default -> Semaphore.of(redisson, kind, key);
        };
    }
}
