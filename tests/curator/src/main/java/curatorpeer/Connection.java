package curatorpeer;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;

/** How a session, or a process, connects: the servers and the session's timeout come from its settings. */
final class Connection {
    private static final String SESSION_MS = "30000";
    private static final int CONNECTION_MS = 10_000;

    private Connection() {}

    /** Returns a client with a session. */
    static CuratorFramework open(Map<String, String> settings) throws InterruptedException {
        var curator = CuratorFrameworkFactory.builder()
                .connectString(settings.get("ZOOKEEPER"))
                .sessionTimeoutMs(Integer.parseInt(settings.getOrDefault("SESSION_MS", SESSION_MS)))
                .connectionTimeoutMs(CONNECTION_MS)
                // Long enough for the election of a leader.
                .retryPolicy(new RetryNTimes(600, 50))
                // The addresses of a test may be those of proxies.
                .ensembleTracker(false)
                .build();
        curator.start();
        if (!curator.blockUntilConnected(CONNECTION_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("no connection");
        }
        return curator;
    }
}
