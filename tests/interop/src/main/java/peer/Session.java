package peer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** The threads and the clients of one test. */
final class Session {
    private final Map<String, ExecutorService> threads = new HashMap<>();
    private volatile Commands commands;
    private volatile boolean closed;

    /** Has a thread execute a line, after those that it has already. */
    void execute(String thread, List<String> words, Consumer<String> answer) {
        threads.computeIfAbsent(thread, name -> Executors.newSingleThreadExecutor())
                .execute(() -> answer.accept(answer(words)));
    }

    private String answer(List<String> words) {
        try {
            if (words.get(0).equals("open")) {
                var opened = new Commands(Connection.open(settings(words)));
                commands = opened;
                if (closed) {
                    opened.close();
                }
                return "open";
            }
            return commands.run(words);
        } catch (Throwable thrown) {
            return "error " + thrown.toString().replace('\n', ' ');
        }
    }

    private static Map<String, String> settings(List<String> words) {
        var settings = new HashMap<String, String>();
        for (var word : words.subList(1, words.size())) {
            var at = word.indexOf('=');
            settings.put(word.substring(0, at), word.substring(at + 1));
        }
        return settings;
    }

    /** Ends its threads, also those that wait for a lock, and its connections. Nothing is released. */
    void close() {
        closed = true;
        threads.values().forEach(ExecutorService::shutdownNow);
        var open = commands;
        if (open != null) {
            // It waits for its connections.
            new Thread(open::close).start();
        }
    }
}
