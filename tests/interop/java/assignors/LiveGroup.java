import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A classic group of Java consumers in one process: a consumer for each rack named ("-" for none), all with one
 * assignor. All join at one moment, so that none meets a group that others have made. Prints each member as
 * "member-id rack topic-partition ..." once all are of one generation and each partition has its one reader.
 *
 * Arguments: bootstrap servers, topics between commas, assignor class, racks between commas.
 */
public class LiveGroup {
    static final long LOOK_MS = 50;

    static class Member implements Runnable {
        final String rack;
        final KafkaConsumer<byte[], byte[]> consumer;
        final Collection<String> topics;
        volatile Set<TopicPartition> owned = Set.of();
        volatile String id = "";
        volatile int generation = -1;
        final CyclicBarrier ready;
        volatile boolean over;

        Member(String servers, Collection<String> topics, String assignor, String rack, CyclicBarrier ready) {
            this.ready = ready;
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
            try {
                topics.forEach(consumer::partitionsFor);
                ready.await();
            } catch (InterruptedException | BrokenBarrierException error) {
                throw new IllegalStateException(error);
            }
            consumer.subscribe(topics);
            while (!over) {
                consumer.poll(Duration.ofMillis(50));
                owned = new HashSet<>(consumer.assignment());
                generation = consumer.groupMetadata().generationId();
                id = consumer.groupMetadata().memberId();
            }
            consumer.close();
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> topics = List.of(arguments[1].split(","));
        String[] racks = arguments[3].split(",");
        CyclicBarrier ready = new CyclicBarrier(racks.length);
        List<Member> members = new ArrayList<>();
        for (String rack : racks)
            members.add(new Member(arguments[0], topics, arguments[2], rack, ready));
        int partitions = topics.stream().mapToInt(topic -> members.get(0).consumer.partitionsFor(topic).size()).sum();
        ExecutorService threads = Executors.newCachedThreadPool();
        members.forEach(threads::submit);
        while (!settled(members, partitions))
            Thread.sleep(LOOK_MS);
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

    static boolean settled(List<Member> members, int partitions) {
        Set<TopicPartition> read = new HashSet<>();
        members.forEach(member -> read.addAll(member.owned));
        return read.size() == partitions
            && members.stream().mapToInt(member -> member.owned.size()).sum() == partitions
            && members.stream().noneMatch(member -> member.id.isEmpty() || member.owned.isEmpty())
            && members.stream().mapToInt(member -> member.generation).distinct().count() == 1;
    }
}
