package curatorpeer;

import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** A lock of a thread: a mutex, or one side of a read/write lock. */
final class Mutex implements Lock {
    private final InterProcessMutex mutex;

    Mutex(InterProcessMutex mutex) {
        this.mutex = mutex;
    }

    @Override
    public boolean acquire(long wait) throws Exception {
        return mutex.acquire(wait, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean release() throws Exception {
        try {
            mutex.release();
            return true;
        } catch (IllegalMonitorStateException notHeld) {
            return false;
        }
    }

    @Override
    public boolean isOwnedByThread() {
        return mutex.isOwnedByCurrentThread();
    }

    @Override
    public Collection<String> participants() throws Exception {
        return mutex.getParticipantNodes();
    }

    void makeRevocable(Runnable listener) {
        mutex.makeRevocable(requested -> listener.run());
    }
}
