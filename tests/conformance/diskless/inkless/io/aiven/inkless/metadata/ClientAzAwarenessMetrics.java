package io.aiven.inkless.metadata;

/** Counts nothing. */
class ClientAzAwarenessMetrics {
    void recordClientAz(String clientAz, boolean found) { }

    void recordFallback() { }

    void recordOfflineReplicasRoutedAround() { }

    void recordCrossAzRouting() { }

    void close() { }
}
