import java.io.FileWriter;
import java.io.Writer;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A resource manager and node managers of Hadoop's own on this machine, until standard input ends.
 *
 * <p>Arguments: how many node managers; the file for the settings by which clients find them, which is there once all
 * have joined.
 */
public final class YarnCluster {
    private static final int MEMORY_MB = 3072;

    /** Ends in any case: what Hadoop has started by then would keep a failed start alive. */
    public static void main(String[] arguments) {
        try {
            run(arguments);
            Runtime.getRuntime().halt(0);
        } catch (Throwable failure) {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void run(String[] arguments) throws Exception {
        int nodes = Integer.parseInt(arguments[0]);
        YarnConfiguration settings = new YarnConfiguration();
        settings.set("yarn.scheduler.capacity.root.queues", "default");
        settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
        settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
        settings.setInt("yarn.scheduler.minimum-allocation-mb", 128);
        settings.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", MEMORY_MB);
        settings.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
        settings.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        settings.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", nodes, 1, 1);
        cluster.init(settings);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(Long.MAX_VALUE)) {
            throw new IllegalStateException("expected " + nodes + " node managers, got fewer");
        }
        try (Writer out = new FileWriter(arguments[1])) {
            cluster.getConfig().writeXml(out);
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
    }

    private YarnCluster() {}
}
