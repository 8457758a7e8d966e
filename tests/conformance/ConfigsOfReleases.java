// Prints the names of the configs that a release of Apache Kafka has, one a line after its kind: "topic retention.ms".
// mockbroker/state/configs/since.json is made of what 4.0.0, 4.1.0, 4.2.0, 4.3.0 and 4.4.0 print: what each has that the one before had not.
//
//     java -cp 'jars-4.1.0/*' tests/conformance/ConfigsOfReleases.java

import java.lang.reflect.Field;
import org.apache.kafka.common.config.ConfigDef;

public class ConfigsOfReleases {
    static final String[][] KINDS = {
        {"topic", "org.apache.kafka.storage.internals.log.LogConfig", "CONFIG"},
        {"group", "org.apache.kafka.coordinator.group.GroupConfig", "CONFIG"},
        {"group", "org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF"},
        {"broker", "org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF"},
    };

    public static void main(String[] arguments) throws Exception {
        for (String[] kind : KINDS) {
            try {
                Field field = Class.forName(kind[1]).getDeclaredField(kind[2]);
                field.setAccessible(true);
                for (String name : ((ConfigDef) field.get(null)).names()) System.out.println(kind[0] + " " + name);
            } catch (NoSuchFieldException none) {
                continue; // it has the other name
            }
        }
    }
}
