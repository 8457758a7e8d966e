// Writes fixtures/oracle/partitioner.jsonl: the partitions that Kafka's producer chooses for records without keys.
//
// It is in the package of BuiltInPartitioner so that it can replace the class's random numbers with drawn ones.
//
// Needs kafka-clients 4.4.0 with all it depends on, as `mvn dependency:copy-dependencies` brings them:
//     javac -cp 'jars/*' -d classes tests/conformance/PartitionerFixtures.java
//     java -ea -cp 'classes:jars/*' org.apache.kafka.clients.producer.internals.PartitionerFixtures fixtures/oracle/partitioner.jsonl
//     gzip -9n fixtures/oracle/partitioner.jsonl

package org.apache.kafka.clients.producer.internals;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.internals.LogContext;

public class PartitionerFixtures {
    static final int LAYOUTS = 3000, DRAWS = 8, MAX_PARTITIONS = 12, BATCH = 100;
    static final String TOPIC = "orders";
    static final String[] RACKS = {"a", "b", "c", "", null};
    static final String[] PRODUCER_RACKS = {"a", "b", "c", "d", ""};

    /** The client's class, whose next random number is set. */
    static class Drawn extends BuiltInPartitioner {
        int next;

        Drawn(boolean rackAware, String rack) {
            super(new LogContext(), TOPIC, BATCH, rackAware, rack);
        }

        @Override
        int randomPartition() {
            return next;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Random random = new Random(1);
        try (PrintWriter out = new PrintWriter(arguments[0], "UTF-8")) {
            for (int number = 0; number < LAYOUTS; number++) out.println(line(random));
        }
    }

    static String line(Random random) {
        int count = 1 + random.nextInt(MAX_PARTITIONS);
        boolean rackAware = random.nextInt(5) > 0;
        String rack = PRODUCER_RACKS[random.nextInt(PRODUCER_RACKS.length)];
        boolean missing = random.nextInt(3) == 0, none = random.nextInt(20) == 0;
        int racks = 1 + random.nextInt(RACKS.length);
        List<Node> nodes = new ArrayList<>();
        for (int place = 0; place < racks; place++) nodes.add(new Node(place, "host", 9092, RACKS[place]));
        List<PartitionInfo> partitions = new ArrayList<>();
        List<String> available = new ArrayList<>();
        List<Integer> ids = new ArrayList<>();
        List<String> leaders = new ArrayList<>();
        for (int partition : order(random, count)) {
            Node leader = null;
            if (!none && !(missing && random.nextInt(3) == 0)) {
                leader = nodes.get(random.nextInt(racks));
                available.add("[" + partition + ", " + quoted(leader.rack()) + "]");
            }
            partitions.add(new PartitionInfo(TOPIC, partition, leader, new Node[0], new Node[0]));
            if (leader != null) {
                ids.add(partition);
                leaders.add(leader.rack());
            }
        }
        Cluster cluster = new Cluster("cluster", nodes, partitions, Set.of(), Set.of());
        Drawn partitioner = new Drawn(rackAware, rack);
        String load = "null";
        if (random.nextInt(4) > 0) {
            // Arrays as long as the topic has partitions; the first ones are those with a leader, less some slow ones.
            int[] sizes = new int[count], numbers = new int[count];
            String[] places = new String[count];
            int most = 1 << random.nextInt(8), length = ids.size();
            for (int place = 0; place < ids.size(); place++) {
                sizes[place] = random.nextInt(most);
                numbers[place] = ids.get(place);
                places[place] = leaders.get(place);
            }
            if (length > 0 && random.nextInt(4) == 0) length -= random.nextInt(length + 1);
            List<String> queues = new ArrayList<>();
            for (int place = 0; place < length; place++) queues.add("[" + numbers[place] + ", " + sizes[place] + "]");
            load = queues.toString();
            partitioner.updatePartitionLoadStats(sizes, numbers, places, length);
        }
        List<Integer> draws = new ArrayList<>(), chosen = new ArrayList<>();
        partitioner.next = draw(random, draws);
        BuiltInPartitioner.StickyPartitionInfo current = partitioner.peekCurrentPartitionInfo(cluster);
        chosen.add(current.partition());
        while (draws.size() < DRAWS) {
            partitioner.next = draw(random, draws);
            partitioner.updatePartitionInfo(current, BATCH, cluster);
            current = partitioner.peekCurrentPartitionInfo(cluster);
            chosen.add(current.partition());
        }
        String input = "{\"partitions\": " + count + ", \"available\": " + available + ", \"rack_aware\": " + rackAware
            + ", \"client_rack\": " + quoted(rack) + ", \"queues\": " + load + ", \"draws\": " + draws + "}";
        return "{\"kind\": \"partition\", \"input\": " + input + ", \"expect\": {\"partitions\": " + chosen + "}}";
    }

    static int draw(Random random, List<Integer> draws) {
        draws.add(random.nextInt() & Integer.MAX_VALUE);
        return draws.get(draws.size() - 1);
    }

    /** The numbers below count: in order, or shuffled as the client's hash map may have them. */
    static List<Integer> order(Random random, int count) {
        List<Integer> order = new ArrayList<>();
        for (int number = 0; number < count; number++) order.add(number);
        if (random.nextBoolean()) java.util.Collections.shuffle(order, random);
        return order;
    }

    static String quoted(String text) {
        return text == null ? "null" : "\"" + text + "\"";
    }
}
