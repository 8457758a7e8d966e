import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A worker with the Java client: reads in a group, or writes with and without keys, until SIGTERM.
 *
 * <p>RackWorker consume|produce TOPIC [key=value...], the keys being the client's own settings.
 */
public class RackWorker {
    private static volatile boolean over;

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        for (int i = 2; i < args.length; i++) {
            int sign = args[i].indexOf('=');
            settings.put(args[i].substring(0, sign), args[i].substring(sign + 1));
        }
        Thread work = Thread.currentThread();
        if (args[0].equals("produce")) {
            atTheEnd(() -> { }, work);
            produce(args[1], settings);
        } else {
            consume(args[1], settings, work);
        }
    }

    private static void consume(String topic, Properties settings, Thread work) {
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            atTheEnd(consumer::wakeup, work);
            consumer.subscribe(Collections.singletonList(topic));
            while (!over) {
                consumer.poll(Duration.ofMillis(200));
            }
        } catch (WakeupException ended) {
            // as asked
        }
    }

    private static void produce(String topic, Properties settings) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; !over; i++) {
                producer.send(new ProducerRecord<>(topic, i % 2 == 0 ? "k" + i : null, "v" + i));
                Thread.sleep(10);
            }
        }
    }

    private static void atTheEnd(Runnable wake, Thread work) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            over = true;
            wake.run();
            try {
                work.join(8000);
            } catch (InterruptedException ended) {
                // then it ends as it is
            }
        }));
    }
}
