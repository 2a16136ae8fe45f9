package peer;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** A semaphore of permits that expire, {@code semaphore/<permits>}. Redisson renews none of them. */
final class Semaphore implements Lock {
    private final RPermitExpirableSemaphore semaphore;
    private final int permits;
    /** Of those who ask for none: as with a lock. */
    private final long usualLease;
    /** Permits belong to nobody; here each thread gives back those that it took. */
    private final ThreadLocal<Deque<String>> taken = ThreadLocal.withInitial(ArrayDeque::new);

    private Semaphore(RPermitExpirableSemaphore semaphore, int permits, long usualLease) {
        this.semaphore = semaphore;
        this.permits = permits;
        this.usualLease = usualLease;
    }

    static Semaphore of(RedissonClient redisson, String kind, String key) {
        var words = kind.split("/");
        if (words.length != 2 || !words[0].equals("semaphore")) {
            throw new IllegalArgumentException(kind);
        }
        var permits = Integer.parseInt(words[1]);
        var semaphore = redisson.getPermitExpirableSemaphore(key);
        semaphore.trySetPermits(permits);
        return new Semaphore(semaphore, permits, redisson.getConfig().getLockWatchdogTimeout());
    }

    @Override
    public String acquire(long wait, long lease) throws InterruptedException {
        var permit = semaphore.tryAcquire(wait, lease == 0 ? usualLease : lease, TimeUnit.MILLISECONDS);
        if (permit == null) {
            return "busy";
        }
        taken.get().push(permit);
        return "held " + permit;
    }

    @Override
    public String release() {
        var mine = taken.get();
        return !mine.isEmpty() && semaphore.tryRelease(mine.pop()) ? "released" : "gone";
    }

    @Override
    public int holds() {
        return taken.get().size();
    }

    /** Whether none is left. */
    @Override
    public boolean locked() {
        return semaphore.availablePermits() <= 0;
    }

    @Override
    public boolean force() {
        var held = semaphore.availablePermits() < permits;
        semaphore.setPermits(permits);
        return held;
    }
}
