package curatorpeer;

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
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * Takes turns at locks for the program {@code compare}, in the words of its own {@code turns}: says
 * that it is ready, hears from when to when, says what it had. Times are nanoseconds on the clock
 * that all processes of the machine share ({@code CLOCK_MONOTONIC}, behind {@link System#nanoTime}).
 *
 * <p>Arguments: key, threads, keys of each thread's own (0: all take the one key), for how
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

    private final CuratorFramework curator;
    private final String key;
    private final int tasks;
    private final int keys;
    private final long hold;

    private Turns(CuratorFramework curator, String[] words) {
        this.curator = curator;
        this.key = words[0];
        this.tasks = Integer.parseInt(words[1]);
        this.keys = Integer.parseInt(words[2]);
        this.hold = Long.parseLong(words[3]) * 1_000;
    }

    public static void main(String[] words) throws Exception {
        var turns = new Turns(Connection.open(System.getenv()), words);
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
    private List<InterProcessMutex> locks(String name, int task, int own) {
        if (own == 0) {
            return List.of(lock(name));
        }
        var locks = new ArrayList<InterProcessMutex>();
        for (int at = 0; at < own; at++) {
            locks.add(lock(name + "-" + task + "-" + at));
        }
        return locks;
    }

    private InterProcessMutex lock(String name) {
        return new InterProcessMutex(curator, "/curator/" + name);
    }

    private List<Turn> take(int task, List<InterProcessMutex> locks, long held, long start, long end)
            throws Exception {
        var turns = new ArrayList<Turn>();
        LockSupport.parkNanos(start - System.nanoTime());
        for (int at = 0; ; at = (at + 1) % locks.size()) {
            var lock = locks.get(at);
            var requested = System.nanoTime();
            lock.acquire();
            var taken = System.nanoTime();
            if (taken >= end) {
                lock.release();
                return turns;
            }
            if (held > 0) {
                LockSupport.parkNanos(held);
            }
            turns.add(new Turn(task, requested, taken, System.nanoTime()));
            lock.release();
        }
    }
}
