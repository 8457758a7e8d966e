package io.aiven.inkless.control_plane;

import java.util.List;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.network.ListenerName;

/** What the transformer asks of Inkless's interface of this name. */
public interface MetadataView {
    List<Node> getAliveBrokerNodes(ListenerName listenerName);

    boolean isDisklessTopic(String topicName);

    boolean isRemoteStorageEnabled(String topicName);
}
