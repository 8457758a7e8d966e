import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;

class RackTest {
    static final String SELECTOR =
            "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector";

    /** A running `kafka-rack serve`, and what it said once it was ready. */
    record Cluster(Process process, JsonNode ready) implements AutoCloseable {
        static Cluster start(String... options) throws Exception {
            var program = System.getenv().getOrDefault("KAFKA_RACK", "kafka-rack");
            var command = new ArrayList<>(List.of(
                    program, "serve", "--port", "0", "--control-port", "0", "--ready-fd", "1", "--end-with-parent"));
            command.addAll(List.of(options));
            var process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            BufferedReader reader = process.inputReader();
            return new Cluster(process, new ObjectMapper().readTree(reader.readLine()));
        }

        void post(String path, String body) throws Exception {
            var request = HttpRequest.newBuilder(URI.create(ready.get("control").asText() + path))
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            assertTrue(response.statusCode() < 400, () -> path + ": " + response.body());
        }

        Map<String, Object> client(Map<String, Object> more) {
            var settings = new java.util.HashMap<String, Object>(more);
            settings.put("bootstrap.servers", ready.get("bootstrap_servers").asText());
            settings.put("client.id", "reader");
            return settings;
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    static void produce(KafkaProducer<String, String> producer, int count) throws Exception {
        for (int number = 0; number < count; number++) {
            producer.send(new ProducerRecord<>("orders", "an order")).get();
        }
    }

    static void consume(KafkaConsumer<String, String> consumer, int count) {
        while (count > 0) {
            count -= consumer.poll(Duration.ofMillis(100)).count();
        }
    }

    @Test
    void ordersAreReadInTheirOwnRackAndElsewhereOnceItIsDown() throws Exception {
        var text = new StringDeserializer();
        try (var cluster = Cluster.start("--racks", "a,b,c", "--topic", "orders:3:3", "--set", SELECTOR);
                var producer = new KafkaProducer<>(cluster.client(Map.of()), new StringSerializer(), new StringSerializer());
                var consumer = new KafkaConsumer<>(
                        cluster.client(Map.of("group.id", "orders", "client.rack", "b", "auto.offset.reset", "earliest")),
                        text, text)) {
            consumer.subscribe(List.of("orders"));
            produce(producer, 30);
            consume(consumer, 30);
            cluster.post("/assertions", "{\"assert\": \"rack_local\", \"client_id\": \"reader\", \"api\": \"Fetch\"}");

            cluster.post("/racks/b/stop", "");
            produce(producer, 30);
            consume(consumer, 30);

            cluster.post("/shutdown", "");
            assertEquals(0, cluster.process().waitFor());
        }
    }
}
