import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/**
 * Asks Apache Kafka's own classes to place. Each line of standard input is one request, fields between tabs:
 * placer, start partition, partitions, replicas, seed, fixed start index (-1: draw), rounds, brokers.
 * Brokers stand between commas as id=rack=fenced, rack "~" where there is none. The answer is one line:
 * with rounds 0 the rows, as 1,2,3;2,3,1, or the simple name of the exception after "!"; else the median processor time
 * of that many rounds in nanoseconds, after as many to warm up.
 */
public class Placement {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] said = line.split("\t", -1);
            int rounds = Integer.parseInt(said[6]);
            try {
                System.out.println(rounds == 0 ? text(place(said)) : median(said, rounds));
            } catch (RuntimeException error) {
                System.out.println("!" + error.getClass().getSimpleName());
            }
        }
    }

    static long median(String[] said, int rounds) throws Exception {
        long[] times = new long[rounds];
        for (int round = -rounds; round < rounds; round++) {
            long start = CLOCK.getCurrentThreadCpuTime();
            place(said);
            if (round >= 0) {
                times[round] = CLOCK.getCurrentThreadCpuTime() - start;
            }
        }
        Arrays.sort(times);
        return times[rounds / 2];
    }

    static List<List<Integer>> place(String[] said) throws Exception {
        int start = Integer.parseInt(said[1]);
        int partitions = Integer.parseInt(said[2]);
        int replicas = Integer.parseInt(said[3]);
        long seed = Long.parseLong(said[4]);
        List<UsableBroker> brokers = new ArrayList<>();
        for (String broker : said[7].split(",")) {
            String[] parts = broker.split("=");
            Optional<String> rack = parts[1].equals("~") ? Optional.empty() : Optional.of(parts[1]);
            brokers.add(new UsableBroker(Integer.parseInt(parts[0]), rack, Boolean.parseBoolean(parts[2])));
        }
        if (said[0].equals("striped")) {
            return striped(brokers, start, partitions, replicas, seed);
        }
        List<BrokerMetadata> metadata = new ArrayList<>();
        for (UsableBroker broker : brokers) {
            metadata.add(new BrokerMetadata(broker.id(), said[0].equals("unaware") ? Optional.empty() : broker.rack()));
        }
        Field random = AdminUtils.class.getDeclaredField("RAND");
        random.setAccessible(true);
        ((Random) random.get(null)).setSeed(seed);
        Map<Integer, List<Integer>> placed =
            AdminUtils.assignReplicasToBrokers(metadata, partitions, replicas, Integer.parseInt(said[5]), start);
        List<List<Integer>> rows = new ArrayList<>();
        for (int partition = start; partition < start + partitions; partition++) {
            rows.add(placed.get(partition));
        }
        return rows;
    }

    static List<List<Integer>> striped(List<UsableBroker> brokers, int start, int partitions, int replicas, long seed) {
        List<List<Integer>> rows = new ArrayList<>();
        ClusterDescriber cluster = new ClusterDescriber() {
            @Override
            public Iterator<UsableBroker> usableBrokers() {
                return brokers.iterator();
            }

            @Override
            public Uuid defaultDir(int broker) {
                return Uuid.ZERO_UUID;
            }
        };
        PlacementSpec spec = new PlacementSpec(start, partitions, (short) replicas);
        for (PartitionAssignment row : new StripedReplicaPlacer(new Random(seed)).place(spec, cluster).assignments()) {
            rows.add(row.replicas());
        }
        return rows;
    }

    static String text(List<List<Integer>> rows) {
        StringBuilder text = new StringBuilder();
        for (List<Integer> row : rows) {
            for (int at = 0; at < row.size(); at++) {
                text.append(at > 0 ? "," : text.length() > 0 ? ";" : "").append(row.get(at));
            }
        }
        return text.toString();
    }
}
