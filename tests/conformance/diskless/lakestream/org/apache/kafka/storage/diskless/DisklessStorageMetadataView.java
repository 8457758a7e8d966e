package org.apache.kafka.storage.diskless;

/** What the transformer asks of Lakestream's interface of this name. */
public interface DisklessStorageMetadataView {
    boolean isDisklessStorageTopic(String topic);
}
