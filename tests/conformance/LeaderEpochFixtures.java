// Writes fixtures/oracle/leader-epochs.jsonl: what Apache Kafka's own LeaderEpochFileCache holds and answers.
//
// Needs kafka-storage and kafka-server-common 4.4.0 with all they depend on, as `mvn dependency:copy-dependencies` brings them:
//     java -cp 'jars/*' tests/conformance/LeaderEpochFixtures.java fixtures/oracle/leader-epochs.jsonl
//     gzip -9n fixtures/oracle/leader-epochs.jsonl

import java.io.File;
import java.io.PrintWriter;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

public class LeaderEpochFixtures {
    static final int LINES = 120;

    public static void main(String[] arguments) throws Exception {
        Scheduler never = (Scheduler) Proxy.newProxyInstance(LeaderEpochFixtures.class.getClassLoader(), new Class<?>[] {Scheduler.class}, (proxy, method, values) -> null);
        try (PrintWriter out = new PrintWriter(arguments[0], "UTF-8")) {
            for (int seed = 0; seed < LINES; seed++) out.println(line(new Random(seed), never));
        }
    }

    static String line(Random random, Scheduler scheduler) throws Exception {
        File file = File.createTempFile("leader-epochs", null);
        LeaderEpochCheckpointFile checkpoint = new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1));
        LeaderEpochFileCache cache = new LeaderEpochFileCache(new TopicPartition("orders", 0), checkpoint, scheduler);
        List<String> operations = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        int epoch = random.nextInt(4);
        long end = random.nextInt(3);
        for (int step = 0, steps = 1 + random.nextInt(10); step < steps; step++) {
            int kind = random.nextInt(10);
            if (kind < 7) {
                int assigned = kind == 0 ? Math.max(0, epoch - 1 - random.nextInt(3)) : epoch;
                cache.assign(assigned, end);
                operations.add("[\"assign\", " + assigned + ", " + end + "]");
                end += random.nextInt(3) * random.nextInt(5);
                epoch += random.nextInt(3);
            } else {
                long offset = random.nextInt((int) end + 2);
                if (kind < 9) cache.truncateFromStartAsyncFlush(offset);
                else cache.truncateFromEndAsyncFlush(offset);
                operations.add("[\"" + (kind < 9 ? "truncate_from_start" : "truncate_from_end") + "\", " + offset + "]");
            }
            expected.add(state(cache, epoch + 2, end));
        }
        file.delete();
        return "{\"kind\": \"leader-epochs\", \"input\": [" + String.join(", ", operations) + "], \"expect\": [" + String.join(", ", expected) + "]}";
    }

    /** What it holds; the ends of the epochs from -1 on, of a log that ends at `end`; the epochs of the offsets 0 to `end`. */
    static String state(LeaderEpochFileCache cache, int epochs, long end) {
        List<String> entries = new ArrayList<>();
        for (EpochEntry entry : cache.epochEntries()) entries.add("[" + entry.epoch() + ", " + entry.startOffset() + "]");
        List<String> ends = new ArrayList<>();
        for (int epoch = -1; epoch < epochs; epoch++) {
            Map.Entry<Integer, Long> found = cache.endOffsetFor(epoch, end);
            ends.add("[" + found.getKey() + ", " + found.getValue() + "]");
        }
        List<String> epochOf = new ArrayList<>();
        for (long offset = 0; offset <= end; offset++) {
            OptionalInt found = cache.epochForOffset(offset);
            epochOf.add(String.valueOf(found.isPresent() ? found.getAsInt() : -1));
        }
        return "{\"entries\": [" + String.join(", ", entries) + "], \"log_end_offset\": " + end + ", \"end_offsets\": [" + String.join(", ", ends) + "], \"epoch_of_offset\": [" + String.join(", ", epochOf) + "]}";
    }
}
