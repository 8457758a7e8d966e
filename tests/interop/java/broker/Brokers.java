import java.io.BufferedReader;
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
 * A line "stop N" or "start N" stops or starts the N-th broker, and DONE is printed.
 */
public class Brokers {
    public static void main(String[] files) throws Exception {
        String clusterId = Uuid.randomUuid().toString();
        List<KafkaRaftServer> servers = new ArrayList<>();
        for (String file : files) {
            StorageTool.execute(new String[] {"format", "-t", clusterId, "-c", file}, System.err);
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

    static KafkaRaftServer server(String file) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            properties.load(in);
        }
        return new KafkaRaftServer(KafkaConfig.fromProps(properties, false), Time.SYSTEM);
    }
}
