package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.api.RedissonClient;

/**
 * Does with Redisson what the lines of its standard input say, and answers each on its standard output.
 *
 * <p>A line is {@code <id> <thread> <verb> <kind> <key> [arguments]}, its answer {@code #<id> <answer>}.
 * Lines of one thread are carried out in turn, by the same Java thread; those of several threads at
 * the same time. When the input ends, so does the process, without releasing anything.
 */
public final class Peer {
    private final Commands commands;
    private final Map<String, ExecutorService> threads = new HashMap<>();

    private Peer(List<RedissonClient> servers) {
        this.commands = new Commands(servers);
    }

    public static void main(String[] arguments) throws IOException {
        var peer = new Peer(Connection.open(System.getenv()));
        say("ready");
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            peer.take(Arrays.asList(line.split(" ")));
        }
        Runtime.getRuntime().halt(0);
    }

    private void take(List<String> words) {
        var thread = threads.computeIfAbsent(words.get(1), name -> Executors.newSingleThreadExecutor());
        thread.execute(() -> say("#" + words.get(0) + " " + answer(words.subList(2, words.size()))));
    }

    private String answer(List<String> words) {
        try {
            return commands.run(words);
        } catch (Throwable thrown) {
            return "error " + thrown.toString().replace('\n', ' ');
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
    }
}
