// What Kafka's admin client is told of configs, one line a step: the same steps against any cluster.
//
//     java Configurer.java BOOTSTRAP
//
// Changes topics, groups, client metrics and brokers, and shows what they were and became. Broker 0 has to be there.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;

public class Configurer {
    static final int ANSWERS_IN_A_ROW = 30;
    static Admin admin;

    interface Step {
        Object take() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("retry.backoff.ms", "20");
        admin = Admin.create(settings);
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "configured");
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "0");
        ConfigResource brokers = new ConfigResource(ConfigResource.Type.BROKER, "");
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "configured");
        ConfigResource metrics = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "configured");

        told("created", () -> created("configured", Map.of("retention.ms", "5000", "cleanup.policy", "compact,delete")));
        told("created badly", () -> created("bad", Map.of("retention.ms", "soon")));
        told("created misspelt", () -> created("bad", Map.of("retention", "5")));
        told("topic", () -> shown(topic));
        told("set", () -> altered(topic, AlterConfigOp.OpType.SET, "max.message.bytes", "2000"));
        told("append", () -> altered(topic, AlterConfigOp.OpType.APPEND, "leader.replication.throttled.replicas", "0:1"));
        told("subtract", () -> altered(topic, AlterConfigOp.OpType.SUBTRACT, "cleanup.policy", "delete"));
        told("delete", () -> altered(topic, AlterConfigOp.OpType.DELETE, "retention.ms", ""));
        told("append to a number", () -> altered(topic, AlterConfigOp.OpType.APPEND, "retention.ms", "5"));
        told("topic changed", () -> shown(topic, "max.message.bytes", "leader.replication.throttled.replicas", "cleanup.policy", "retention.ms"));
        told("no topic", () -> altered(new ConfigResource(ConfigResource.Type.TOPIC, "none"), AlterConfigOp.OpType.SET, "retention.ms", "5"));
        told("brokers", () -> altered(brokers, AlterConfigOp.OpType.SET, "log.retention.ms", "60000"));
        told("broker", () -> altered(broker, AlterConfigOp.OpType.SET, "background.threads", "11"));
        told("broker needs a restart", () -> altered(broker, AlterConfigOp.OpType.SET, "log.dirs", "/elsewhere"));
        told("all that was set for brokers", () -> shown(brokers));
        told("one broker", () -> shown(broker, "log.retention.ms", "log.retention.hours", "background.threads", "num.partitions", "ssl.key.password"));
        told("topic by brokers", () -> shown(topic, "retention.ms"));
        told("group", () -> altered(group, AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "50000"));
        told("group out of range", () -> altered(group, AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "5"));
        told("group shown", () -> shown(group, "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "share.auto.offset.reset"));
        told("client metrics", () -> altered(metrics, AlterConfigOp.OpType.SET, "interval.ms", "1000"));
        told("client metrics shown", () -> shown(metrics));
        told("level", () -> altered(new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "0"), AlterConfigOp.OpType.SET, "no.such.logger", "INFO"));
        for (ConfigResource.Type type : List.of(ConfigResource.Type.GROUP, ConfigResource.Type.CLIENT_METRICS, ConfigResource.Type.BROKER))
            told("listed " + type, () -> admin.listConfigResources(Set.of(type), new ListConfigResourcesOptions()).all().get().stream()
                .map(ConfigResource::name).sorted().collect(Collectors.toList()));
        told("brokers no more", () -> altered(brokers, AlterConfigOp.OpType.DELETE, "log.retention.ms", ""));
        told("minimum for one", () -> altered(broker, AlterConfigOp.OpType.SET, "min.insync.replicas", "2"));
        told("minimum for none", () -> altered(brokers, AlterConfigOp.OpType.DELETE, "min.insync.replicas", ""));
        admin.close();
    }

    static void told(String step, Step action) throws Exception {
        Object outcome;
        try {
            outcome = action.take();
        } catch (ExecutionException error) {
            outcome = error.getCause().getClass().getSimpleName();
        }
        System.out.println(step + ": " + outcome);
    }

    static Object created(String name, Map<String, String> configs) throws Exception {
        CreateTopicsResult result = admin.createTopics(List.of(new NewTopic(name, Optional.of(1), Optional.of((short) 1)).configs(configs)));
        Config config = result.config(name).get();
        return described(config.entries());
    }

    /** Changed, once all brokers show it, any of which answers: metadata takes its time in a real cluster. */
    static Object altered(ConfigResource resource, AlterConfigOp.OpType type, String name, String value) throws Exception {
        AlterConfigOp change = new AlterConfigOp(new ConfigEntry(name, value), type);
        Map<ConfigResource, Collection<AlterConfigOp>> changes = Map.of(resource, List.of(change));
        admin.incrementalAlterConfigs(changes, new AlterConfigsOptions().validateOnly(true)).all().get();
        String before = String.valueOf(shown(resource, name));
        admin.incrementalAlterConfigs(changes).all().get();
        for (int changed = 0; changed < ANSWERS_IN_A_ROW; changed++) {
            if (!String.valueOf(shown(resource, name)).equals(before)) continue;
            changed = -1;
            Thread.sleep(5);
        }
        return "done";
    }

    static Object shown(ConfigResource resource, String... names) throws Exception {
        DescribeConfigsOptions all = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        Collection<ConfigEntry> entries = admin.describeConfigs(List.of(resource), all).all().get().get(resource).entries();
        List<String> wanted = Arrays.asList(names);
        return described(entries.stream().filter(entry -> wanted.isEmpty() || wanted.contains(entry.name())).collect(Collectors.toList()));
    }

    static Object described(Collection<ConfigEntry> entries) {
        TreeMap<String, Object> found = new TreeMap<>();
        for (ConfigEntry entry : entries) {
            List<String> synonyms = new ArrayList<>();
            for (ConfigEntry.ConfigSynonym synonym : entry.synonyms()) synonyms.add(synonym.source() + " " + synonym.name() + "=" + synonym.value());
            String words = entry.documentation() == null ? "none" : String.valueOf(entry.documentation().hashCode());
            found.put(entry.name(), Arrays.asList(entry.value(), entry.source(), entry.type(), entry.isReadOnly(), entry.isSensitive(), synonyms, words));
        }
        return found;
    }
}
