// Share consumers that do what lines of standard input say, one answer a line: "ok ..." or "error NAME ...".
//
//     java Sharer.java BOOTSTRAP
//
// open NAME GROUP TOPIC [key=value...]   a consumer, with settings of its own
// poll NAME COUNT                        poll until so many records have come; each as partition:offset:value:deliveries
// ack NAME TYPE [OFFSET...]              acknowledge records of the last polls, all of them where none is named
// commit NAME                            commit what was acknowledged; the error of each partition that has one
// close NAME
// send TOPIC COUNT                       values v0, v1, ..., each acknowledged

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Sharer {
    static String bootstrap;
    static final Map<String, KafkaShareConsumer<String, String>> consumers = new HashMap<>();
    static final Map<String, List<ConsumerRecord<String, String>>> polled = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = ("ok " + done(line.split(" "))).trim();
            } catch (Exception problem) {
                Throwable cause = problem;
                while (cause.getCause() != null && cause.getCause() != cause) cause = cause.getCause();
                answer = "error " + cause.getClass().getSimpleName() + " " + String.valueOf(cause.getMessage()).replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    static String done(String[] words) throws Exception {
        String name = words[1];
        KafkaShareConsumer<String, String> consumer = consumers.get(name);
        switch (words[0]) {
            case "open":
                Properties settings = new Properties();
                settings.put("bootstrap.servers", bootstrap);
                settings.put("group.id", words[2]);
                settings.put("client.id", name);
                settings.put("retry.backoff.ms", "20");
                for (int i = 4; i < words.length; i++) {
                    int sign = words[i].indexOf('=');
                    settings.put(words[i].substring(0, sign), words[i].substring(sign + 1));
                }
                consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
                consumer.subscribe(List.of(words[3]));
                consumers.put(name, consumer);
                polled.put(name, new ArrayList<>());
                return "";
            case "poll":
                return poll(name, consumer, Integer.parseInt(words[2]));
            case "ack":
                AcknowledgeType type = AcknowledgeType.valueOf(words[2].toUpperCase(Locale.ROOT));
                List<String> offsets = List.of(words).subList(3, words.length);
                for (ConsumerRecord<String, String> record : polled.get(name)) {
                    if (offsets.isEmpty() || offsets.contains(String.valueOf(record.offset()))) consumer.acknowledge(record, type);
                }
                return "";
            case "commit":
                return errors(consumer.commitSync());
            case "close":
                consumer.close();
                consumers.remove(name);
                return "";
            case "send":
                send(name, Integer.parseInt(words[2]));
                return "";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    static String poll(String name, KafkaShareConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        StringBuilder told = new StringBuilder();
        while (found.size() < count) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                found.add(record);
                told.append(record.partition()).append(':').append(record.offset()).append(':').append(record.value());
                told.append(':').append(record.deliveryCount().map(String::valueOf).orElse("?")).append(' ');
            }
        }
        polled.put(name, found);
        return told.toString();
    }

    static String errors(Map<TopicIdPartition, Optional<KafkaException>> results) {
        StringBuilder told = new StringBuilder();
        results.forEach((partition, error) ->
            error.ifPresent(problem -> told.append(partition.partition()).append(':').append(problem.getClass().getSimpleName()).append(' ')));
        return told.toString();
    }

    static void send(String topic, int count) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < count; i++) producer.send(new ProducerRecord<>(topic, "v" + i));
            producer.flush();
        }
    }
}
