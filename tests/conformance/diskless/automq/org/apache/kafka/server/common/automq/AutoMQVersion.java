package org.apache.kafka.server.common.automq;

/** The newest version. */
public class AutoMQVersion {
    public boolean isDualMappingSupported() {
        return true;
    }
}
