import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java client, for tests to run as a process.
 *
 * <p>RackClient produce TOPIC COUNT [key=value...] sends the values v0, v1, ... and prints "partition offset value" for each that was acknowledged.
 * <p>RackClient consume TOPIC COUNT [key=value...] prints the same for each record it reads, and ends after COUNT of them, 5 seconds
 * after the last of fewer, or 30 seconds without any.
 * <p>The keys are the client's own settings. Runs from source, with Kafka's jars on the class path.
 */
public class RackClient {
    private static final Duration BEFORE_THE_FIRST = Duration.ofSeconds(30);
    private static final Duration BEFORE_THE_NEXT = Duration.ofSeconds(5);

    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        Properties settings = new Properties();
        for (int i = 3; i < args.length; i++) {
            int sign = args[i].indexOf('=');
            settings.put(args[i].substring(0, sign), args[i].substring(sign + 1));
        }
        if (args[0].equals("produce")) {
            produce(topic, count, settings);
        } else {
            consume(topic, count, settings);
        }
    }

    private static void produce(String topic, int count, Properties settings) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, "k" + i, "v" + i)));
            }
            for (int i = 0; i < count; i++) {
                RecordMetadata where = sent.get(i).get();
                System.out.println(where.partition() + " " + where.offset() + " v" + i);
            }
        }
    }

    private static void consume(String topic, int count, Properties settings) {
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long until = System.nanoTime() + BEFORE_THE_FIRST.toNanos();
            for (int seen = 0; seen < count && System.nanoTime() < until; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(record.partition() + " " + record.offset() + " " + record.value());
                    until = System.nanoTime() + BEFORE_THE_NEXT.toNanos();
                    seen++;
                }
            }
        }
    }
}
