import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/** Several Kafka brokers in one process, each set up by a properties file; prints READY, and ends when stdin does. */
public class Brokers {
    public static void main(String[] files) throws Exception {
        String clusterId = Uuid.randomUuid().toString();
        List<KafkaRaftServer> servers = new ArrayList<>();
        for (String file : files) {
            StorageTool.execute(new String[] {"format", "-t", clusterId, "-c", file}, System.err);
            Properties properties = new Properties();
            try (FileInputStream in = new FileInputStream(file)) {
                properties.load(in);
            }
            servers.add(new KafkaRaftServer(KafkaConfig.fromProps(properties, false), Time.SYSTEM));
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
        while (System.in.read() >= 0) {
        }
        Runtime.getRuntime().halt(0);
    }
}
