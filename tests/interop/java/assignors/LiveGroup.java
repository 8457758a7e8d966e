import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A classic group of Java consumers in one process: a consumer for each rack named ("-" for none), all with one
 * assignor. Prints each member as "member-id rack topic-partition ..." when the group has been quiet for a while.
 *
 * Arguments: bootstrap servers, topics between commas, assignor class, racks between commas.
 */
public class LiveGroup {
    static final long QUIET_MS = 1_500;
    static final long PATIENCE_MS = 60_000;

    static class Member implements Runnable {
        final String rack;
        final KafkaConsumer<byte[], byte[]> consumer;
        final Collection<String> topics;
        volatile Set<TopicPartition> owned = Set.of();
        volatile String id = "";
        volatile boolean over;

        Member(String servers, Collection<String> topics, String assignor, String rack) {
            this.rack = rack;
            this.topics = topics;
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", servers);
            settings.put("group.id", "live");
            settings.put("partition.assignment.strategy", assignor);
            settings.put("heartbeat.interval.ms", 200);
            if (!rack.equals("-"))
                settings.put("client.rack", rack);
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }

        @Override
        public void run() {
            consumer.subscribe(topics);
            while (!over) {
                consumer.poll(Duration.ofMillis(50));
                owned = new HashSet<>(consumer.assignment());
                id = consumer.groupMetadata().memberId();
            }
            consumer.close();
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> topics = List.of(arguments[1].split(","));
        List<Member> members = new ArrayList<>();
        for (String rack : arguments[3].split(","))
            members.add(new Member(arguments[0], topics, arguments[2], rack));
        ExecutorService threads = Executors.newCachedThreadPool();
        members.forEach(threads::submit);
        List<Object> seen = List.of();
        long began = System.currentTimeMillis(), changed = began;
        while (System.currentTimeMillis() - began < PATIENCE_MS) {
            Thread.sleep(50);
            List<Object> now = new ArrayList<>();
            members.forEach(member -> now.add(List.of(member.id, member.owned)));
            if (!now.equals(seen)) {
                seen = now;
                changed = System.currentTimeMillis();
            }
            boolean all = members.stream().noneMatch(member -> member.id.isEmpty());
            boolean any = members.stream().anyMatch(member -> !member.owned.isEmpty());
            if (all && any && System.currentTimeMillis() - changed > QUIET_MS)
                break;
        }
        for (Member member : members) {
            StringJoiner line = new StringJoiner(" ");
            line.add(member.id).add(member.rack);
            member.owned.forEach(part -> line.add(part.toString()));
            System.out.println(line);
        }
        members.forEach(member -> member.over = true);
        threads.shutdown();
        threads.awaitTermination(20, TimeUnit.SECONDS);
        System.exit(0);
    }
}
