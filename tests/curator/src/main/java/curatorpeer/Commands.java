package curatorpeer;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.Revoker;

/** The verbs. */
final class Commands {
    private final CuratorFramework curator;
    private final Locks locks;
    private final Map<String, Revocation> revocations = new ConcurrentHashMap<>();

    Commands(CuratorFramework curator, String base) {
        this.curator = curator;
        this.locks = new Locks(curator, base);
    }

    String run(List<String> words) throws Exception {
        var name = words.get(1) + " " + words.get(2);
        var lock = locks.get(words.get(1), words.get(2));
        return switch (words.get(0)) {
            case "acquire" -> lock.acquire(number(words, 3)) ? "held" : "busy";
            case "release" -> lock.release() ? "released" : "gone";
            case "owns" -> String.valueOf(lock.isOwnedByThread());
            case "locked" -> String.valueOf(!lock.participants().isEmpty());
            case "participants" -> String.join(",", lock.participants());
            case "revocable" -> {
                revocations.put(name, new Revocation((Mutex) lock));
                yield "revocable";
            }
            case "revoked" -> revocations.get(name).await();
            case "revoke" -> revoke(lock);
            case "crowd" -> new Crowd(lock, Path.of(words.get(3))).run(words.get(1), number(words, 4));
            default -> throw new IllegalArgumentException(words.get(0));
        };
    }

    void close() {
        curator.close();
    }

    /** Requests the release from the first in line: the holder. */
    private String revoke(Lock lock) throws Exception {
        var participants = lock.participants().iterator();
        if (!participants.hasNext()) {
            return "free";
        }
        Revoker.attemptRevoke(curator, participants.next());
        return "requested";
    }

    private static long number(List<String> words, int at) {
        return Long.parseLong(words.get(at));
    }
}
