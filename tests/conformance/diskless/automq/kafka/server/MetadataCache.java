package kafka.server;

import org.apache.kafka.metadata.BrokerRegistration;

/** What the mapping asks of AutoMQ's class of this name. */
public interface MetadataCache {
    BrokerRegistration getPartitionLeaderNode(String topic, int partition);

    BrokerRegistration getNode(int id);
}
