package peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The clients of a session, or of a process: from its settings, with the defaults of Redisson otherwise. */
final class Connection {
    private Connection() {}

    /** The main server, and the others after it. */
    static List<RedissonClient> open(Map<String, String> settings) {
        var servers = new ArrayList<RedissonClient>();
        servers.add(open(settings, settings.get("REDIS_URL")));
        var others = settings.get("OTHER_URLS");
        if (others != null) {
            for (var url : others.split(",")) {
                servers.add(open(settings, url));
            }
        }
        return servers;
    }

    private static RedissonClient open(Map<String, String> settings, String url) {
        var config = new Config();
        config.setThreads(4).setNettyThreads(4);
        var watchdog = settings.get("WATCHDOG_MS");
        if (watchdog != null) {
            config.setLockWatchdogTimeout(Long.parseLong(watchdog));
        }
        var nodes = settings.get("CLUSTER_NODES");
        if (nodes != null) {
            config.useClusterServers()
                    .addNodeAddress(nodes.split(","))
                    .setMasterConnectionMinimumIdleSize(1)
                    .setSubscriptionConnectionMinimumIdleSize(1);
        } else {
            var server = config.useSingleServer()
                    .setAddress(url)
                    .setConnectionMinimumIdleSize(1)
                    .setSubscriptionConnectionMinimumIdleSize(1);
            var prefix = settings.get("PREFIX");
            if (prefix != null) {
                Prefix.set(server, prefix);
            }
        }
        return Redisson.create(config);
    }
}
