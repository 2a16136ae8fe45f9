package curatorpeer;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** One object for each lock, as services keep theirs. */
final class Locks {
    private final CuratorFramework curator;
    private final String base;
    private final Map<String, Lock> locks = new ConcurrentHashMap<>();
    private final Map<String, InterProcessReadWriteLock> readWrite = new ConcurrentHashMap<>();

    Locks(CuratorFramework curator, String base) {
        this.curator = curator;
        this.base = base;
    }

    Lock get(String kind, String key) {
        return locks.computeIfAbsent(kind + " " + key, name -> create(kind, key));
    }

    /** Kinds have the names of the Rust client's. Those that it has more than Curator are one recipe here. */
    private Lock create(String kind, String key) {
        return switch (kind) {
            case "reentrant", "fair", "fenced" -> new Mutex(new InterProcessMutex(curator, path(key)));
            case "read", "fair_read" -> new Mutex(readWrite(key).readLock());
            case "write", "fair_write" -> new Mutex(readWrite(key).writeLock());
            case "semaphore_mutex" -> new Whole(new InterProcessSemaphoreMutex(curator, path(key)));
            case "multi" -> new Whole(new InterProcessMultiLock(
                    curator, Arrays.stream(key.split(",")).map(this::path).toList()));
            default -> Semaphore.of(curator, kind, path(key));
        };
    }

    /** The read lock knows the thread's write by their common object. */
    private InterProcessReadWriteLock readWrite(String key) {
        return readWrite.computeIfAbsent(key, name -> new InterProcessReadWriteLock(curator, path(key)));
    }

    private String path(String key) {
        return base + "/" + key;
    }
}
