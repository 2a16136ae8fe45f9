package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Takes turns at locks for the program {@code compare}, in the words of its own {@code turns}: says
 * that it is ready, hears from when to when, says what it had. Times are nanoseconds on the clock
 * that all processes of the machine share ({@code CLOCK_MONOTONIC}, behind {@link System#nanoTime}).
 *
 * <p>Arguments: kind, key, threads, keys of each thread's own (0: all take the one key), for how
 * many microseconds each holds it.
 */
public final class Turns {
    private static final String READY = "ready to take turns";
    private static final String TAKEN = "turns taken: ";
    /** So that it is compiled code that is measured. */
    private static final long WARM_UP = 4_000_000_000L;

    private record Turn(int task, long requested, long taken, long ended) {
        String json() {
            return "{\"task\":%d,\"requested\":%d,\"taken\":%d,\"ended\":%d}".formatted(task, requested, taken, ended);
        }
    }

    private final RedissonClient redisson;
    private final String kind;
    private final String key;
    private final int tasks;
    private final int keys;
    private final long hold;

    private Turns(RedissonClient redisson, String[] words) {
        this.redisson = redisson;
        this.kind = words[0];
        this.key = words[1];
        this.tasks = Integer.parseInt(words[2]);
        this.keys = Integer.parseInt(words[3]);
        this.hold = Long.parseLong(words[4]) * 1_000;
    }

    public static void main(String[] words) throws Exception {
        var turns = new Turns(Connection.open(System.getenv()).get(0), words);
        turns.all("warm-up-" + ProcessHandle.current().pid(), 1, 0, System.nanoTime(), System.nanoTime() + WARM_UP);
        System.out.println(READY);
        var times = times();
        var taken = turns.all(turns.key, turns.keys, turns.hold, times.get(0), times.get(1));
        System.out.println(TAKEN + taken.stream().map(Turn::json).collect(Collectors.joining(",", "[", "]")));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static List<Long> times() throws IOException {
        var line = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
        return Pattern.compile("\\d+").matcher(line).results().map(found -> Long.valueOf(found.group())).toList();
    }

    private List<Turn> all(String name, int own, long held, long start, long end)
            throws InterruptedException, ExecutionException {
        var threads = Executors.newFixedThreadPool(tasks);
        var under = new ArrayList<Future<List<Turn>>>();
        for (int task = 0; task < tasks; task++) {
            var number = task;
            under.add(threads.submit(() -> take(number, locks(name, number, own), held, start, end)));
        }
        var taken = new ArrayList<Turn>();
        for (var turns : under) {
            taken.addAll(turns.get());
        }
        threads.shutdown();
        return taken;
    }

    /** Lock objects are made once, as services keep theirs. */
    private List<RLock> locks(String name, int task, int own) {
        if (own == 0) {
            return List.of(lock(name));
        }
        var locks = new ArrayList<RLock>();
        for (int at = 0; at < own; at++) {
            locks.add(lock(name + "-" + task + "-" + at));
        }
        return locks;
    }

    private RLock lock(String name) {
        return switch (kind) {
            case "lock" -> redisson.getLock(name);
            case "write" -> redisson.getReadWriteLock(name).writeLock();
            case "read" -> redisson.getReadWriteLock(name).readLock();
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private List<Turn> take(int task, List<RLock> locks, long held, long start, long end) {
        var turns = new ArrayList<Turn>();
        LockSupport.parkNanos(start - System.nanoTime());
        for (int at = 0; ; at = (at + 1) % locks.size()) {
            var lock = locks.get(at);
            var requested = System.nanoTime();
            lock.lock();
            var taken = System.nanoTime();
            if (taken >= end) {
                lock.unlock();
                return turns;
            }
            if (held > 0) {
                LockSupport.parkNanos(held);
            }
            turns.add(new Turn(task, requested, taken, System.nanoTime()));
            lock.unlock();
        }
    }
}
