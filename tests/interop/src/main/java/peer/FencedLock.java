package peer;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;

/** Tells the token of each grant. */
final class FencedLock extends PlainLock {
    private final RFencedLock lock;

    FencedLock(RFencedLock lock) {
        super(lock);
        this.lock = lock;
    }

    @Override
    public String acquire(long wait, long lease) {
        var token = lock.tryLockAndGetToken(wait, lease(lease), TimeUnit.MILLISECONDS);
        return token == null ? "busy" : "held " + token;
    }
}
