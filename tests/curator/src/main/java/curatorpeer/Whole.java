package curatorpeer;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessLock;

/** A lock of the whole process, which any of its threads may release: it knows no participants. */
final class Whole implements Lock {
    private final InterProcessLock lock;

    Whole(InterProcessLock lock) {
        this.lock = lock;
    }

    @Override
    public boolean acquire(long wait) throws Exception {
        return lock.acquire(wait, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean release() throws Exception {
        if (!lock.isAcquiredInThisProcess()) {
            return false;
        }
        lock.release();
        return true;
    }

    @Override
    public boolean isOwnedByThread() {
        return lock.isAcquiredInThisProcess();
    }

    @Override
    public Collection<String> participants() {
        return List.of();
    }
}
