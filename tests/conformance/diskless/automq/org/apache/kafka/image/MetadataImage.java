package org.apache.kafka.image;

import java.util.Map;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.server.common.automq.AutoMQVersion;

/** What the mapping asks of AutoMQ's classes of these names. */
public record MetadataImage(Map<Integer, BrokerRegistration> brokers) {
    public MetadataImage cluster() {
        return this;
    }

    public MetadataImage features() {
        return this;
    }

    public AutoMQVersion autoMQVersion() {
        return new AutoMQVersion();
    }
}
