package org.apache.kafka.storage.diskless;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.network.ListenerName;

/** Draws clusters and clients, and writes the owners that DisklessTopicMetadataTransformer names for 100 partitions each. */
public class LakestreamFixtures {
    static final int LINES = 1000;

    public static void main(String[] arguments) throws Exception {
        Drawn drawn = new Drawn(arguments[0]);
        for (int number = 0; number < LINES; number++) {
            List<String> racks = drawn.racks();
            List<Node> brokers = drawn.brokers(racks);
            String clientId = clientId(drawn, drawn.random.nextInt(6) == 0 ? "elsewhere" : drawn.one(racks));
            Uuid topicId = drawn.topicId();
            int first = drawn.random.nextInt(100_000);
            MetadataResponseTopic topic = new MetadataResponseTopic().setName("t").setTopicId(topicId);
            for (int place = 0; place < Drawn.PARTITIONS; place++)
                topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(first + place));
            ListenerName listener = new ListenerName("PLAINTEXT");
            new DisklessTopicMetadataTransformer(name -> true, new DisklessBrokerSelector(ignored -> brokers, listener))
                .transformClusterMetadata(listener, clientId, List.of(topic));
            List<String> answers = new ArrayList<>();
            for (MetadataResponsePartition one : topic.partitions())
                answers.add(one.leaderId() + " " + one.replicaNodes() + " " + one.isrNodes() + " " + one.offlineReplicas());
            drawn.line("\"brokers\": " + Drawn.nodes(brokers) + ", \"client_id\": " + Drawn.quoted(clientId)
                + ", \"topic_id\": \"" + topicId + "\", \"first\": " + first, answers);
        }
        drawn.close();
    }

    static String clientId(Drawn drawn, String rack) {
        return switch (drawn.random.nextInt(12)) {
            case 0 -> null;
            case 1 -> "billing";
            case 2 -> "my_zone_id=" + rack;
            case 3 -> "zone_id=,zone_id=" + rack;
            case 4 -> "app , zone_id= " + rack + " ,x=y";
            case 5 -> "zone_id=nowhere,zone_id=" + rack;
            case 6 -> "app;zone_id=" + rack;
            case 7 -> "zone_id=" + rack + "-StreamThread-1";
            default -> "app,zone_id=" + rack;
        };
    }
}
