// Writes mockbroker/state/configs/kafka_configs.json and kafka_documentation.json.gz: all configs that Apache Kafka's own classes define, of
// topics, brokers, groups and client metrics, with type, default, validator, importance and synonyms, and how brokers' may change at run time.
//
// Needs the jars of a broker, as tests/interop/java/broker/pom.xml names them; 4.4.0 (build/interop/kafka-4.4.0 has them after a test with real brokers):
//     java -cp 'build/interop/kafka-4.4.0/*' tests/conformance/ConfigDefinitions.java mockbroker/state/configs/kafka_configs.json kafka_documentation.json
//     gzip -9nc kafka_documentation.json > mockbroker/state/configs/kafka_documentation.json.gz

import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

public class ConfigDefinitions {
    public static void main(String[] arguments) throws Exception {
        Map<String, ConfigDef> kinds = new LinkedHashMap<>();
        kinds.put("topic", LogConfig.configDefCopy());
        kinds.put("broker", AbstractKafkaConfig.CONFIG_DEF);
        kinds.put("broker_dynamic_only", QuotaConfig.brokerQuotaConfigs());
        kinds.put("group", GroupConfig.CONFIG_DEF);
        kinds.put("client_metrics", ClientMetricsConfigs.configDef());
        Map<String, Object> data = new LinkedHashMap<>();
        Map<String, Object> documentation = new LinkedHashMap<>();
        for (Map.Entry<String, ConfigDef> kind : kinds.entrySet()) {
            Map<String, Object> definitions = new TreeMap<>();
            Map<String, Object> texts = new TreeMap<>();
            for (ConfigDef.ConfigKey key : kind.getValue().configKeys().values()) {
                definitions.put(key.name, definition(key));
                texts.put(key.name, key.documentation);
            }
            data.put(kind.getKey(), definitions);
            documentation.put(kind.getKey(), texts);
        }
        data.put("topic_synonyms", topicSynonyms());
        Map<String, Object> groupSynonyms = new TreeMap<>();
        GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.forEach((name, synonym) -> synonym.ifPresent(one -> groupSynonyms.put(name, List.of(List.of(one, 1)))));
        data.put("group_synonyms", groupSynonyms);
        Map<String, Object> brokerSynonyms = new TreeMap<>();
        for (String name : AbstractKafkaConfig.CONFIG_DEF.names()) {
            List<String> synonyms = DynamicBrokerConfig.brokerConfigSynonyms(name, true);
            if (!synonyms.equals(List.of(name))) brokerSynonyms.put(name, synonyms.stream().map(one -> List.of(one, 1)).toList());
        }
        data.put("broker_synonyms", brokerSynonyms);
        data.put("dynamic", new TreeMap<>(DynamicBrokerConfig.dynamicConfigUpdateModes()));
        data.put("not_dynamic", new TreeSet<>(DynamicConfig.Broker.nonDynamicProps()));
        data.put("only_with_listener_prefix", new TreeSet<>(DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS));
        data.put("cluster_wide_of_listeners", new TreeSet<>((Collection<?>) constant(DynamicBrokerConfig.class, "CLUSTER_LEVEL_LISTENER_CONFIGS")));
        data.put("of_listener_mechanisms", new TreeSet<>((Collection<?>) constant(DynamicBrokerConfig.class, "LISTENER_MECHANISM_CONFIGS")));
        write(arguments[0], data);
        write(arguments[1], documentation);
    }

    /** [type, default, validator, importance], a fifth field for one that is not shown. */
    static List<Object> definition(ConfigDef.ConfigKey key) throws Exception {
        List<Object> fields = new ArrayList<>();
        fields.add(key.type.name());
        fields.add(key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : Map.of("required", true));
        fields.add(key.validator == null ? null : validator(key.validator));
        fields.add(key.importance.name());
        if (key.internalConfig) fields.add("internal");
        return fields;
    }

    /** The validator's class and what it holds, one named field each. */
    static Map<String, Object> validator(Object validator) throws Exception {
        Map<String, Object> shape = new LinkedHashMap<>();
        boolean plain = validator.getClass().getSimpleName().equals("Validator");
        shape.put("is", (plain ? validator.getClass().getDeclaringClass() : validator.getClass()).getSimpleName());
        if (validator instanceof ConfigDef.LambdaValidator) {
            shape.put("text", validator.toString());
            return shape;
        }
        for (Field field : validator.getClass().getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers())) continue;
            field.setAccessible(true);
            Object value = field.get(validator);
            if (value instanceof ConfigDef.ValidString) {
                Field strings = ConfigDef.ValidString.class.getDeclaredField("validStrings");
                strings.setAccessible(true);
                value = strings.get(value);
            } else if (field.getName().equals("validators")) {
                List<Object> all = new ArrayList<>();
                for (Object one : (Collection<?>) value) all.add(validator(one));
                value = all;
            }
            shape.put(field.getName(), value);
        }
        return shape;
    }

    /** The broker's settings that a topic's falls back to, nearest first, each with how many ms one unit is. */
    static Map<String, Object> topicSynonyms() {
        Map<String, Object> all = new TreeMap<>();
        for (Map.Entry<String, List<ConfigSynonym>> entry : ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.entrySet()) {
            List<Object> synonyms = new ArrayList<>();
            for (ConfigSynonym synonym : entry.getValue()) {
                synonyms.add(List.of(synonym.name(), Long.valueOf(synonym.converter().apply("1"))));
            }
            all.put(entry.getKey(), synonyms);
        }
        return all;
    }

    static Object constant(Class<?> owner, String name) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(null);
    }

    static void write(String path, Map<String, Object> data) throws Exception {
        try (PrintWriter out = new PrintWriter(path, "UTF-8")) {
            out.print("{");
            String between = "\n";
            for (Map.Entry<String, Object> section : data.entrySet()) {
                out.print(between + json(section.getKey()) + ": ");
                Object value = section.getValue();
                if (value instanceof Map<?, ?> map && !map.isEmpty()) {
                    String inner = "{\n";
                    for (Map.Entry<?, ?> entry : map.entrySet()) {
                        out.print(inner + json(entry.getKey()) + ": " + json(entry.getValue()));
                        inner = ",\n";
                    }
                    out.print("\n}");
                } else {
                    out.print(json(value));
                }
                between = ",\n";
            }
            out.print("\n}\n");
        }
    }

    static String json(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Number) return String.valueOf(value);
        StringBuilder text = new StringBuilder();
        if (value instanceof Map<?, ?> map) {
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                text.append(text.length() == 0 ? "{" : ", ").append(json(entry.getKey())).append(": ").append(json(entry.getValue()));
            }
            return text.length() == 0 ? "{}" : text.append("}").toString();
        }
        if (value instanceof Collection<?> all) {
            for (Object one : all) text.append(text.length() == 0 ? "[" : ", ").append(json(one));
            return text.length() == 0 ? "[]" : text.append("]").toString();
        }
        text.append('"');
        for (char one : value.toString().toCharArray()) {
            if (one == '"' || one == '\\') text.append('\\').append(one);
            else if (one < 0x20 || one > 0x7e) text.append(String.format("\\u%04x", (int) one));
            else text.append(one);
        }
        return text.append('"').toString();
    }
}
