package peer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.api.RedissonClient;

/** The verbs. */
final class Commands {
    private final List<RedissonClient> servers;
    private final Map<String, Lock> locks = new ConcurrentHashMap<>();

    Commands(List<RedissonClient> servers) {
        this.servers = servers;
    }

    String run(List<String> words) throws InterruptedException {
        var verb = words.get(0);
        var lock = lock(words.get(1), words.get(2));
        return switch (verb) {
            case "acquire" -> lock.acquire(number(words, 3), number(words, 4));
            case "release" -> lock.release();
            case "holds" -> String.valueOf(lock.holds());
            case "locked" -> String.valueOf(lock.locked());
            case "force" -> String.valueOf(lock.force());
            case "crowd" -> new Crowd(lock, servers.get(0), words.get(3)).run(words.get(1), number(words, 4));
            default -> throw new IllegalArgumentException(verb);
        };
    }

    void close() {
        servers.forEach(RedissonClient::shutdown);
    }

    /** One object for each name, as services keep theirs. */
    private Lock lock(String kind, String key) {
        return locks.computeIfAbsent(kind + " " + key, name -> Lock.of(servers, kind, key));
    }

    private static long number(List<String> words, int at) {
        return Long.parseLong(words.get(at));
    }
}
