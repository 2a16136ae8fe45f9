package curatorpeer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Executes the lines of its standard input with Curator's recipes, and answers each on its standard output.
 *
 * <p>A line is {@code <id> <session>/<thread> <verb> <kind> <key> [arguments]}, its answer {@code #<id>
 * <answer>}. Lines of one thread are executed in turn, by the same Java thread; those of several threads
 * at the same time. Each session has clients of its own, so that tests can share a process: its first line
 * is {@code <id> <session>/<thread> open [<setting>=<value>]...}, its last one {@code close}. When the input
 * ends, so does the process, without releasing anything or closing a session.
 */
public final class Peer {
    private final Map<String, Session> sessions = new HashMap<>();

    private Peer() {}

    public static void main(String[] arguments) throws IOException {
        var peer = new Peer();
        print("ready");
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            peer.execute(Arrays.asList(line.split(" ")));
        }
        Runtime.getRuntime().halt(0);
    }

    private void execute(List<String> words) {
        var thread = words.get(1).split("/");
        if (words.get(2).equals("close")) {
            sessions.remove(thread[0]).close();
            return;
        }
        var session = sessions.computeIfAbsent(thread[0], name -> new Session());
        session.execute(thread[1], words.subList(2, words.size()), answer -> print("#" + words.get(0) + " " + answer));
    }

    private static synchronized void print(String line) {
        System.out.println(line);
    }
}
