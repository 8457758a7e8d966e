package kafka.automq.zerozone;

import java.net.InetAddress;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import kafka.automq.interceptor.ClientIdKey;
import kafka.automq.interceptor.ClientIdMetadata;
import kafka.server.KafkaConfig;
import kafka.server.MetadataCache;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.BrokerRegistration;

/**
 * Draws clusters and clients, and writes, for each client and each broker that leads, what ProxyNodeMapping tells the
 * client of a partition, and which brokers take its records.
 */
public class AutomqFixtures {
    static final int ANSWERS = 100_000;
    static final String LISTENER = "PLAINTEXT";

    public static void main(String[] arguments) throws Exception {
        Drawn drawn = new Drawn(arguments[0]);
        int answered = 0;
        while (answered < ANSWERS) {
            List<String> racks = drawn.racks();
            List<Node> brokers = new ArrayList<>();  // AutoMQ's brokers have racks where it routes by zone
            for (Node one : drawn.brokers(racks)) brokers.add(one.rack() != null ? one : new Node(one.id(), "host", 9092, racks.get(0)));
            Map<Integer, BrokerRegistration> registered = new HashMap<>();
            for (Node one : brokers) registered.put(one.id(), new BrokerRegistration.Builder().setId(one.id()).setRack(Optional.of(one.rack()))
                .setListeners(List.of(new Endpoint(LISTENER, SecurityProtocol.PLAINTEXT, "host", 9092))).build());
            Leader leader = new Leader(registered);
            Map<Integer, ProxyNodeMapping> mappings = new HashMap<>();
            for (Node one : brokers) {
                ProxyNodeMapping mapping = new ProxyNodeMapping(one, one.rack(), LISTENER, leader);
                mapping.onChange(new MetadataDelta(), new MetadataImage(registered));
                mappings.put(one.id(), mapping);
            }
            String blocks = drawn.random.nextBoolean() ? blocks(drawn, racks) : "";
            String address = "10." + drawn.random.nextInt(4) + "." + drawn.random.nextInt(4) + ".7";
            DefaultClientRackProvider provider = new DefaultClientRackProvider(new KafkaConfig(Map.of("automq.zone.cidr.blocks", blocks)));
            List<String> ids = clientIds(drawn, racks), answers = new ArrayList<>();
            for (String id : ids) for (Node main : brokers) {
                leader.id = main.id();
                ClientIdMetadata client = client(id, address, provider);
                MetadataResponsePartition partition = new MetadataResponsePartition().setLeaderId(main.id())
                    .setReplicaNodes(List.of(main.id())).setIsrNodes(List.of(main.id()));
                MetadataResponseTopic topic = new MetadataResponseTopic().setName("t").setPartitions(List.of(partition));
                mappings.get(main.id()).handleMetadataResponse(client, List.of(topic));
                List<Integer> takers = new ArrayList<>();
                for (Node one : brokers) if (mappings.get(one.id()).getRouteOutNode("t", 0, client).id() != Node.noNode().id()) takers.add(one.id());
                int told = mappings.get(main.id()).getLeaderNode(main.id(), client, LISTENER).get().id();
                answers.add(partition.leaderId() + " " + partition.replicaNodes() + " " + partition.isrNodes() + " " + takers + " " + told);
            }
            answered += answers.size();
            drawn.line("\"brokers\": " + Drawn.nodes(brokers) + ", \"blocks\": " + Drawn.quoted(blocks) + ", \"address\": \"" + address
                + "\", \"client_ids\": [" + String.join(", ", ids.stream().map(Drawn::quoted).toList()) + "]", answers);
        }
        drawn.close();
    }

    /** Of the one partition that there is. */
    static class Leader implements MetadataCache {
        final Map<Integer, BrokerRegistration> registered;
        int id;

        Leader(Map<Integer, BrokerRegistration> registered) {
            this.registered = registered;
        }

        public BrokerRegistration getPartitionLeaderNode(String topic, int partition) {
            return registered.get(id);
        }

        public BrokerRegistration getNode(int id) {
            return registered.get(id);
        }
    }

    /** As ZeroZoneTrafficInterceptor.fillRackIfMissing has it. */
    static ClientIdMetadata client(String id, String address, DefaultClientRackProvider provider) throws Exception {
        ClientIdMetadata client = ClientIdMetadata.of(id, InetAddress.getByName(address), null);
        if (client.rack() == null) {
            String rack = provider.rack(client);
            if (rack != null) client.metadata(ClientIdKey.AVAILABILITY_ZONE, List.of(rack));
        }
        return client;
    }

    static String blocks(Drawn drawn, List<String> racks) {
        List<String> zones = new ArrayList<>();
        for (String rack : racks) zones.add(rack + "@10." + drawn.random.nextInt(4) + ".0.0/16,10." + drawn.random.nextInt(4) + "." + drawn.random.nextInt(4) + ".0/24");
        if (drawn.random.nextInt(3) == 0) zones.add("elsewhere@10.0.0.0/8");
        return String.join("<>", zones);
    }

    static List<String> clientIds(Drawn drawn, List<String> racks) {
        List<String> ids = new ArrayList<>(List.of("billing", "automq_az="));
        for (String rack : racks) {
            String encoded = URLEncoder.encode(rack, StandardCharsets.UTF_8);
            ids.add(switch (drawn.random.nextInt(6)) {
                case 0 -> "automq_az=" + rack;
                case 1 -> "automq_type=producer&automq_role=r&automq_client_id=c&automq_az=" + encoded;
                case 2 -> "automq_az=" + encoded + "&automq_az=nowhere";
                case 3 -> "x&automq%5Faz=" + encoded;
                default -> "automq_az=" + encoded + "&billing";
            });
        }
        ids.add(drawn.one(List.of("automq_az=elsewhere", "my_automq_az=" + racks.get(0), "a,automq_az=" + racks.get(0), "automq_az=" + racks.get(0) + "-1")));
        return ids;
    }
}
