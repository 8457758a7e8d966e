import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.*;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Apache Kafka's assignors, asked line by line. Each line of standard input is one group in the JSON form of
 * fixtures/oracle ("input"); each line of output is its assignment, {"error": type} where Kafka's code fails or does
 * not end, or, with a number of milliseconds as argument, the median nanoseconds of processor time of an assignment,
 * measured for about that long after as long a warm-up.
 */
public class Assignors {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final ObjectMapper JSON = new ObjectMapper();
    static final int PATIENCE_SECONDS = 10;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ExecutorService worker = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode group = JSON.readTree(line);
            if (arguments.length > 0) {
                out.println(median(group, Long.parseLong(arguments[0]) * 1_000_000));
                continue;
            }
            ObjectNode answer = JSON.createObjectNode();
            Future<Map<String, SortedMap<String, SortedSet<Integer>>>> found = worker.submit(() -> work(group).call());
            try {
                ObjectNode members = answer.putObject("assignment");
                found.get(PATIENCE_SECONDS, TimeUnit.SECONDS).forEach((member, topics) -> {
                    ArrayNode owned = members.putArray(member);
                    topics.forEach((topic, partitions) -> {
                        ArrayNode numbers = owned.addArray().add(topic).addArray();
                        partitions.forEach(numbers::add);
                    });
                });
            } catch (ExecutionException failed) {
                answer.removeAll();
                answer.put("error", failed.getCause().getClass().getSimpleName());
            } catch (TimeoutException endless) {
                answer.removeAll();
                answer.put("error", "Endless");
            }
            out.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    static long median(JsonNode group, long nanoseconds) throws Exception {
        List<Long> times = new ArrayList<>();
        long began = System.nanoTime();
        while (System.nanoTime() - began < 2 * nanoseconds || times.size() < 4) {
            Runnable assign = prepared(group);
            long start = CLOCK.getCurrentThreadCpuTime();
            assign.run();
            times.add(CLOCK.getCurrentThreadCpuTime() - start);
        }
        List<Long> warm = times.subList(times.size() / 2, times.size());
        Collections.sort(warm);
        return warm.get(warm.size() / 2);
    }

    /** One assignment, ready to run: reading the group is no part of it. */
    static Runnable prepared(JsonNode group) {
        ConsumerPartitionAssignor assignor = ofConsumers(group.get("assignor").asText());
        if (assignor == null) {
            Coordinator coordinator = new Coordinator(group);
            return coordinator::assign;
        }
        Cluster cluster = cluster(group.get("cluster"));
        GroupSubscription subscriptions = subscriptions(group.get("members"));
        return () -> assignor.assign(cluster, subscriptions);
    }

    static Callable<Map<String, SortedMap<String, SortedSet<Integer>>>> work(JsonNode group) {
        return () -> {
            Map<String, SortedMap<String, SortedSet<Integer>>> found = new TreeMap<>();
            group.get("members").fieldNames().forEachRemaining(member -> found.put(member, new TreeMap<>()));
            ConsumerPartitionAssignor assignor = ofConsumers(group.get("assignor").asText());
            if (assignor == null) {
                Coordinator coordinator = new Coordinator(group);
                coordinator.assign().members().forEach((member, target) -> target.partitions().forEach((id, numbers) -> {
                    if (!numbers.isEmpty())
                        found.get(member).computeIfAbsent(coordinator.names.get(id), topic -> new TreeSet<>()).addAll(numbers);
                }));
                return found;
            }
            assignor.assign(cluster(group.get("cluster")), subscriptions(group.get("members"))).groupAssignment().forEach(
                (member, assignment) -> assignment.partitions().forEach(
                    part -> found.get(member).computeIfAbsent(part.topic(), topic -> new TreeSet<>()).add(part.partition())));
            return found;
        };
    }

    static ConsumerPartitionAssignor ofConsumers(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            case "cooperative-sticky": return new CooperativeStickyAssignor();
            default: return null;
        }
    }

    static Cluster cluster(JsonNode said) {
        Map<Integer, Node> nodes = new LinkedHashMap<>();
        for (JsonNode node : said.get("nodes"))
            nodes.put(node.get(0).asInt(), new Node(node.get(0).asInt(), "host", 9092, node.get(1).textValue()));
        List<PartitionInfo> partitions = new ArrayList<>();
        said.get("topics").fields().forEachRemaining(topic -> {
            int number = 0;
            for (JsonNode replicas : topic.getValue()) {
                Node[] on = new Node[replicas.size()];
                for (int place = 0; place < on.length; place++) {
                    int id = replicas.get(place).asInt();
                    on[place] = nodes.getOrDefault(id, new Node(id, "", -1));
                }
                partitions.add(new PartitionInfo(topic.getKey(), number++, on.length > 0 ? on[0] : null, on, on));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    static GroupSubscription subscriptions(JsonNode members) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        members.fields().forEachRemaining(member -> {
            JsonNode said = member.getValue();
            List<TopicPartition> owned = new ArrayList<>();
            for (JsonNode topic : said.path("owned"))
                for (JsonNode number : topic.get(1))
                    owned.add(new TopicPartition(topic.get(0).asText(), number.asInt()));
            String userData = said.path("user_data").textValue();
            Subscription subscription = new Subscription(
                topics(said),
                userData == null ? null : ByteBuffer.wrap(HexFormat.of().parseHex(userData)),
                owned,
                said.path("generation").asInt(-1),
                Optional.ofNullable(said.path("rack").textValue()));
            subscription.setGroupInstanceId(Optional.ofNullable(said.path("instance_id").textValue()));
            subscriptions.put(member.getKey(), subscription);
        });
        return new GroupSubscription(subscriptions);
    }

    static List<String> topics(JsonNode member) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        return topics;
    }

    /** The group coordinator's side: topics by id, present targets in place of claims. */
    static class Coordinator implements SubscribedTopicDescriber {
        final Map<Uuid, String> names = new HashMap<>();
        private final Map<Uuid, Integer> counts = new HashMap<>();
        private final GroupSpec group;
        private final ConsumerGroupPartitionAssignor assignor;

        Coordinator(JsonNode said) {
            Map<String, Uuid> ids = new HashMap<>();
            said.get("topic_ids").fields().forEachRemaining(topic -> ids.put(topic.getKey(), Uuid.fromString(topic.getValue().asText())));
            ids.forEach((topic, id) -> names.put(id, topic));
            said.get("cluster").get("topics").fields().forEachRemaining(topic -> counts.put(ids.get(topic.getKey()), topic.getValue().size()));
            Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
            Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
            Set<Set<Uuid>> subscriptions = new HashSet<>();
            said.get("members").fields().forEachRemaining(member -> {
                Set<Uuid> subscribed = new LinkedHashSet<>();
                topics(member.getValue()).forEach(topic -> subscribed.add(ids.get(topic)));
                subscriptions.add(subscribed);
                Map<Uuid, Set<Integer>> owned = new HashMap<>();
                for (JsonNode topic : member.getValue().path("owned"))
                    for (JsonNode number : topic.get(1)) {
                        Uuid id = ids.get(topic.get(0).asText());
                        owned.computeIfAbsent(id, none -> new HashSet<>()).add(number.asInt());
                        owners.computeIfAbsent(id, none -> new HashMap<>()).put(number.asInt(), member.getKey());
                    }
                Map<Uuid, Set<Integer>> inOrder = new HashMap<>();
                for (JsonNode topic : member.getValue().path("owned"))
                    if (owned.containsKey(ids.get(topic.get(0).asText())))
                        inOrder.put(ids.get(topic.get(0).asText()), owned.get(ids.get(topic.get(0).asText())));
                members.put(member.getKey(), new MemberSubscriptionAndAssignmentImpl(
                    Optional.ofNullable(member.getValue().path("rack").textValue()),
                    Optional.ofNullable(member.getValue().path("instance_id").textValue()),
                    subscribed,
                    new Assignment(inOrder)));
            });
            boolean equal = subscriptions.size() <= 1;
            group = new GroupSpecImpl(members, equal ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners);
            assignor = said.get("assignor").asText().equals("uniform")
                ? new UniformAssignor()
                : new org.apache.kafka.coordinator.group.assignor.RangeAssignor();
        }

        GroupAssignment assign() {
            return assignor.assign(group, this);
        }

        @Override
        public int numPartitions(Uuid topic) {
            return counts.getOrDefault(topic, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }
    }
}
