package peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The servers of the process: from its environment, with the defaults of Redisson otherwise. */
final class Connection {
    private Connection() {}

    /** The main server, and the others after it. */
    static List<RedissonClient> open(Map<String, String> environment) {
        var servers = new ArrayList<RedissonClient>();
        servers.add(open(environment, environment.get("REDIS_URL")));
        var others = environment.get("OTHER_URLS");
        if (others != null) {
            for (var url : others.split(",")) {
                servers.add(open(environment, url));
            }
        }
        return servers;
    }

    private static RedissonClient open(Map<String, String> environment, String url) {
        var config = new Config();
        config.setThreads(4).setNettyThreads(4);
        var watchdog = environment.get("WATCHDOG_MS");
        if (watchdog != null) {
            config.setLockWatchdogTimeout(Long.parseLong(watchdog));
        }
        var nodes = environment.get("CLUSTER_NODES");
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
            var prefix = environment.get("PREFIX");
            if (prefix != null) {
                Prefix.set(server, prefix);
            }
        }
        return Redisson.create(config);
    }
}
