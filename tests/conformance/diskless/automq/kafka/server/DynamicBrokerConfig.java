package kafka.server;

import java.util.HashSet;
import java.util.Set;

public class DynamicBrokerConfig {
    public static Set<String> AllDynamicConfigs() {
        return new HashSet<>();
    }
}
