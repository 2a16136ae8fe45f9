package peer;

import java.util.Arrays;
import java.util.List;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
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

    static Lock of(List<RedissonClient> servers, String kind, String key) {
        var redisson = servers.get(0);
        return switch (kind) {
            case "reentrant" -> new PlainLock(redisson.getLock(key));
            case "spin" -> new PlainLock(redisson.getSpinLock(key));
            case "fair" -> new PlainLock(redisson.getFairLock(key));
            case "read" -> new PlainLock(redisson.getReadWriteLock(key).readLock());
            case "write" -> new PlainLock(redisson.getReadWriteLock(key).writeLock());
            case "fenced" -> new FencedLock(redisson.getFencedLock(key));
            case "multi" -> new PlainLock(redisson.getMultiLock(members(servers, key)));
            case "red" -> new PlainLock(onEvery(servers, key));
            default -> Semaphore.of(redisson, kind, key);
        };
    }

    /** {@code a@0,b@1}: a lock of the first server and one of the second. */
    private static RLock[] members(List<RedissonClient> servers, String key) {
        return Arrays.stream(key.split(","))
                .map(member -> member.split("@"))
                .map(member -> servers.get(Integer.parseInt(member[1])).getLock(member[0]))
                .toArray(RLock[]::new);
    }

    private static RLock onEvery(List<RedissonClient> servers, String key) {
        return new RedissonRedLock(
                servers.stream().map(redisson -> redisson.getLock(key)).toArray(RLock[]::new));
    }
}
