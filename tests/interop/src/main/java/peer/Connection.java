package peer;

import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** How the process reaches Redis: from its environment, with the defaults of Redisson otherwise. */
final class Connection {
    private Connection() {}

    static RedissonClient open(Map<String, String> environment) {
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
                    .setAddress(environment.get("REDIS_URL"))
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
