package peer;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** Whatever is an {@code RLock}. */
class PlainLock implements Lock {
    private static final long WATCHDOG = -1;

    private final RLock lock;

    PlainLock(RLock lock) {
        this.lock = lock;
    }

    static long lease(long asked) {
        return asked == 0 ? WATCHDOG : asked;
    }

    @Override
    public String acquire(long wait, long lease) throws InterruptedException {
        // A fair lock that is tried with a wait of 0 stands in the queue for a moment; this does not.
        var tried = wait == 0 && lease == 0;
        var held = tried ? lock.tryLock() : lock.tryLock(wait, lease(lease), TimeUnit.MILLISECONDS);
        return held ? "held" : "busy";
    }

    @Override
    public String release() {
        try {
            lock.unlock();
            return "released";
        } catch (IllegalMonitorStateException notHeld) {
            return "gone";
        }
    }

    @Override
    public int holds() {
        return lock.getHoldCount();
    }

    @Override
    public boolean locked() {
        return lock.isLocked();
    }

    @Override
    public boolean force() {
        return lock.forceUnlock();
    }
}
