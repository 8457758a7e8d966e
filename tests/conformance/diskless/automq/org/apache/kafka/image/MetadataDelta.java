package org.apache.kafka.image;

import java.util.Map;

public class MetadataDelta {
    public MetadataDelta clusterDelta() {
        return this;
    }

    public Map<Integer, Object> changedBrokers() {
        return Map.of(0, this);
    }
}
