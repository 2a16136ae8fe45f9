package peer;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.redisson.config.SingleServerConfig;

/** A {@code NameMapper} that puts a prefix before every name. Its interface has moved between releases. */
final class Prefix {
    private Prefix() {}

    static void set(SingleServerConfig server, String prefix) {
        try {
            for (Method method : server.getClass().getMethods()) {
                if (method.getName().equals("setNameMapper")) {
                    method.invoke(server, mapper(method.getParameterTypes()[0], prefix));
                    return;
                }
            }
        } catch (ReflectiveOperationException failed) {
            throw new IllegalStateException(failed);
        }
        throw new IllegalStateException("no setNameMapper");
    }

    private static Object mapper(Class<?> type, String prefix) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
            var name = (String) arguments[0];
            return method.getName().equals("map") ? prefix + name : name.substring(prefix.length());
        });
    }
}
