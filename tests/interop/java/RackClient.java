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
 * <p>RackClient produce-unkeyed TOPIC COUNT [key=value...] does the same without keys.
 * <p>RackClient consume TOPIC COUNT [key=value...] prints the same for each record it reads, and ends after COUNT of them, or when
 * its standard input ends.
 * <p>The keys are the client's own settings. Runs from source, with Kafka's jars on the class path.
 */
public class RackClient {
    private static volatile boolean stopped;

    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        Properties settings = new Properties();
        for (int i = 3; i < args.length; i++) {
            int sign = args[i].indexOf('=');
            settings.put(args[i].substring(0, sign), args[i].substring(sign + 1));
        }
        if (args[0].startsWith("produce")) {
            produce(topic, count, args[0].equals("produce"), settings);
        } else {
            consume(topic, count, settings);
        }
    }

    private static void produce(String topic, int count, boolean keyed, Properties settings) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, keyed ? "k" + i : null, "v" + i)));
            }
            for (int i = 0; i < count; i++) {
                RecordMetadata where = sent.get(i).get();
                System.out.println(where.partition() + " " + where.offset() + " v" + i);
            }
        }
    }

    private static void consume(String topic, int count, Properties settings) {
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            Thread listening = new Thread(RackClient::awaitEndOfInput);
            listening.setDaemon(true);
            listening.start();
            consumer.subscribe(List.of(topic));
            for (int seen = 0; seen < count && !stopped; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(record.partition() + " " + record.offset() + " " + record.value());
                    seen++;
                }
            }
        }
    }

    private static void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) { }
        } catch (java.io.IOException gone) {
            // then it has ended as well
        }
        stopped = true;
    }
}
