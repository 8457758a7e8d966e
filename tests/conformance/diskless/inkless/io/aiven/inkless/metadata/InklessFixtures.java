package io.aiven.inkless.metadata;

import io.aiven.inkless.control_plane.MetadataView;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.network.ListenerName;

/** Draws clusters and clients, and writes what InklessTopicMetadataTransformer tells them of 100 partitions each. */
public class InklessFixtures {
    static final int UNMANAGED = 700, MANAGED = 700;

    record View(List<Node> alive, boolean tiered) implements MetadataView {
        public List<Node> getAliveBrokerNodes(ListenerName listener) {
            return alive;
        }

        public boolean isDisklessTopic(String topic) {
            return true;
        }

        public boolean isRemoteStorageEnabled(String topic) {
            return tiered;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Drawn drawn = new Drawn(arguments[0]);
        for (int number = 0; number < UNMANAGED + MANAGED; number++) {
            List<String> racks = drawn.racks();
            List<Node> brokers = drawn.brokers(racks);
            boolean managed = number >= UNMANAGED && brokers.size() > 1;
            List<Node> alive = new ArrayList<>(brokers);
            List<Integer> down = new ArrayList<>();
            if (managed) for (Node one : brokers) if (drawn.random.nextInt(3) == 0) { alive.remove(one); down.add(one.id()); }
            if (alive.isEmpty()) { alive.add(brokers.get(0)); down.remove(Integer.valueOf(brokers.get(0).id())); }
            boolean tiered = managed && drawn.random.nextInt(3) == 0;
            String clientId = clientId(drawn, drawn.random.nextInt(6) == 0 ? "elsewhere" : drawn.one(racks));
            String listenerRack = drawn.random.nextInt(3) == 0 ? drawn.one(racks) : null;
            Uuid topicId = drawn.topicId();
            int first = drawn.random.nextInt(100_000);
            MetadataResponseTopic topic = new MetadataResponseTopic().setName("t").setTopicId(topicId);
            List<String> replicas = new ArrayList<>();
            for (int place = 0; place < Drawn.PARTITIONS; place++) {
                List<Integer> assigned = new ArrayList<>();
                if (managed) {
                    List<Node> rest = new ArrayList<>(brokers);
                    int count = 2 + drawn.random.nextInt(Math.min(4, brokers.size()) - 1);
                    while (assigned.size() < count) assigned.add(rest.remove(drawn.random.nextInt(rest.size())).id());
                } else assigned.add(brokers.get(0).id());
                if (place < 3 || !managed) replicas.add(assigned.toString());
                else assigned = List.copyOf(assignedBefore(topic, place));
                topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(first + place).setReplicaNodes(assigned));
            }
            Map<String, String> listeners = listenerRack == null ? Map.of() : Map.of("RACK", listenerRack);
            new InklessTopicMetadataTransformer(new View(alive, tiered), listeners)
                .transformClusterMetadata(new ListenerName("RACK"), clientId, List.of(topic));
            List<String> answers = new ArrayList<>();
            for (MetadataResponsePartition one : topic.partitions())
                answers.add(one.leaderId() + " " + one.replicaNodes() + " " + one.isrNodes() + " " + one.offlineReplicas());
            drawn.line("\"brokers\": " + Drawn.nodes(brokers) + ", \"down\": " + down + ", \"client_id\": " + Drawn.quoted(clientId)
                + ", \"listener_rack\": " + Drawn.quoted(listenerRack) + ", \"topic_id\": \"" + topicId + "\", \"first\": " + first
                + ", \"tiered\": " + tiered + ", \"replicas\": " + (managed ? replicas.toString() : "null"), answers);
        }
        drawn.close();
    }

    /** Three assignments take turns, so that a line stays short. */
    static List<Integer> assignedBefore(MetadataResponseTopic topic, int place) {
        return topic.partitions().get(place % 3).replicaNodes();
    }

    static String clientId(Drawn drawn, String rack) {
        return switch (drawn.random.nextInt(12)) {
            case 0 -> null;
            case 1 -> "billing";
            case 2 -> "my-diskless_az=" + rack;
            case 3 -> "diskless_az=,x";
            case 4 -> "app|diskless_az=" + rack + "|src->dst|";
            case 5 -> "app,diskless_az=" + rack + "-StreamThread-1-producer";
            case 6 -> "app diskless_az=" + rack + "=more";
            case 7 -> "diskless_az=nowhere,diskless_az=" + rack;
            default -> "app,diskless_az=" + rack;
        };
    }
}
