package curatorpeer;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** A semaphore, {@code semaphore/<permits>}. */
final class Semaphore implements Lock {
    private final InterProcessSemaphoreV2 semaphore;
    /** Permits belong to no thread; here each thread returns those that it took. */
    private final ThreadLocal<Deque<Lease>> taken = ThreadLocal.withInitial(ArrayDeque::new);

    private Semaphore(InterProcessSemaphoreV2 semaphore) {
        this.semaphore = semaphore;
    }

    static Semaphore of(CuratorFramework curator, String kind, String path) {
        var words = kind.split("/");
        if (words.length != 2 || !words[0].equals("semaphore")) {
            throw new IllegalArgumentException(kind);
        }
        return new Semaphore(new InterProcessSemaphoreV2(curator, path, Integer.parseInt(words[1])));
    }

    @Override
    public boolean acquire(long wait) throws Exception {
        var lease = semaphore.acquire(wait, TimeUnit.MILLISECONDS);
        if (lease == null) {
            return false;
        }
        taken.get().push(lease);
        return true;
    }

    @Override
    public boolean release() {
        var mine = taken.get();
        if (mine.isEmpty()) {
            return false;
        }
        semaphore.returnLease(mine.pop());
        return true;
    }

    @Override
    public boolean isOwnedByThread() {
        return !taken.get().isEmpty();
    }

    /** The permits in use. */
    @Override
    public Collection<String> participants() throws Exception {
        return semaphore.getParticipantNodes();
    }
}
