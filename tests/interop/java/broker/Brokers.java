import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/**
 * Several Kafka brokers in one process, each set up by a properties file; prints READY, and ends when stdin does.
 * A line "stop N" or "start N" stops or starts the N-th broker, and DONE is printed. Several such processes are one
 * cluster where they are given its id by -Dcluster.id.
 */
public class Brokers {
    public static void main(String[] files) throws Exception {
        String clusterId = System.getProperty("cluster.id", Uuid.randomUuid().toString());
        List<KafkaRaftServer> servers = new ArrayList<>();
        for (String file : files) {
            if (!isFormatted(file)) {
                StorageTool.execute(new String[] {"format", "-t", clusterId, "-c", file}, System.err);
            }
            servers.add(server(file));
        }
        List<Thread> starting = new ArrayList<>();
        for (KafkaRaftServer server : servers) {
            Thread thread = new Thread(server::startup);
            thread.start();
            starting.add(thread);
        }
        for (Thread thread : starting) {
            thread.join();
        }
        System.out.println("READY");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.trim().split(" ");
            int index = Integer.parseInt(words[1]);
            if (words[0].equals("stop")) {
                servers.get(index).shutdown();
                servers.get(index).awaitShutdown();
            } else {
                servers.set(index, server(files[index]));
                servers.get(index).startup();
            }
            System.out.println("DONE");
        }
        Runtime.getRuntime().halt(0);
    }

    /** Whether the first log directory has been a broker's before: it goes on with what it finds there. */
    static boolean isFormatted(String file) throws Exception {
        String first = properties(file).getProperty("log.dirs").split(",")[0];
        return new File(first, "meta.properties").exists();
    }

    static KafkaRaftServer server(String file) throws Exception {
        return new KafkaRaftServer(KafkaConfig.fromProps(properties(file), false), Time.SYSTEM);
    }

    static Properties properties(String file) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            properties.load(in);
        }
        return properties;
    }
}
