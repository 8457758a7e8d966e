// A transactional program that goes on while its cluster is killed; a line for each thing that came of it.
//
//     java Killing.java ledger BOOTSTRAP SEED TOPIC
//     java Killing.java copier BOOTSTRAP SEED SOURCE TARGET
//
// ledger: the same number to both partitions of a topic, in one transaction; some are aborted.
//     begun N | committing N | committed N | aborted N
// copier: records of one topic into another, with the offsets they were read at. copied COUNT
// both: anew WHY, where a new producer takes over; note WHY, where something was tried again
//
// "pause" on standard input has it end what it is about, and say "paused"; then "go".

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Killing {
    static final int PARTITIONS = 2;
    static final double ABORTED = 0.3;
    static final Semaphore go = new Semaphore(0);
    static volatile boolean pauses;
    static String kind, bootstrap;
    static Random random;
    static KafkaProducer<String, String> producer;
    static KafkaConsumer<String, String> consumer;
    static int number = -1;
    static boolean begun;

    public static void main(String[] arguments) throws Exception {
        kind = arguments[0];
        bootstrap = arguments[1];
        random = new Random(Long.parseLong(arguments[2]));
        Thread listening = new Thread(Killing::listen);
        listening.setDaemon(true);
        listening.start();
        while (true) {
            if (pauses && producer != null) { // else a transaction that failed may be open still
                say("paused");
                go.acquire();
            }
            attempt(arguments);
            Thread.sleep(2);
        }
    }

    static void listen() {
        try {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                pauses = line.equals("pause");
                if (!pauses) go.release();
            }
        } catch (Exception ended) {
            // whoever started it has gone
        }
        Runtime.getRuntime().halt(0);
    }

    /** One transaction; what fails is aborted, and where that fails too a new producer takes over. */
    static void attempt(String[] arguments) {
        begun = false;
        try {
            if (producer == null) begin();
            if (kind.equals("ledger")) ledger(arguments[3]);
            else copy(arguments[3], arguments[4]);
        } catch (RuntimeException problem) {
            say("note " + problem);
            abort(problem);
        }
    }

    static void begin() {
        Properties settings = common();
        settings.put("transactional.id", kind);
        settings.put("linger.ms", "0");
        settings.put("max.block.ms", "20000");
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        patiently(producer::initTransactions);
    }

    static Properties common() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("reconnect.backoff.ms", "20");
        settings.put("reconnect.backoff.max.ms", "200");
        settings.put("retry.backoff.ms", "20");
        settings.put("retry.backoff.max.ms", "200");
        settings.put("request.timeout.ms", "10000");
        return settings;
    }

    static void ledger(String topic) {
        number++;
        say("begun " + number);
        start();
        for (int partition = 0; partition < PARTITIONS; partition++) {
            producer.send(new ProducerRecord<>(topic, partition, null, "" + number));
        }
        if (random.nextDouble() < ABORTED) {
            if (random.nextBoolean()) producer.flush();
            patiently(producer::abortTransaction);
            say("aborted " + number);
        } else {
            say("committing " + number);
            patiently(producer::commitTransaction);
            say("committed " + number);
        }
    }

    static void copy(String source, String target) {
        if (consumer == null) consumer = consumer(source);
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
        if (records.isEmpty()) return;
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        start();
        for (ConsumerRecord<String, String> record : records) {
            producer.send(new ProducerRecord<>(target, record.partition(), null, record.value()));
            offsets.put(new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        patiently(() -> producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata()));
        patiently(producer::commitTransaction);
        say("copied " + records.count());
    }

    /** Reads on from what is committed. */
    static KafkaConsumer<String, String> consumer(String topic) {
        Properties settings = common();
        settings.put("group.id", kind);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", "30");
        KafkaConsumer<String, String> made =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        made.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)));
        return made;
    }

    static void start() {
        producer.beginTransaction();
        begun = true;
    }

    static void abort(RuntimeException problem) {
        forgetConsumer();
        try {
            if (!begun) throw problem;
            patiently(producer::abortTransaction);
            if (kind.equals("ledger")) say("aborted " + number);
        } catch (RuntimeException fatal) {
            say("anew " + fatal);
            producer.close(Duration.ZERO);
            producer = null;
        }
    }

    static void forgetConsumer() {
        if (consumer != null) consumer.close(Duration.ZERO);
        consumer = null;
    }

    /** Try again what ran out of time, as the client's documentation has it. */
    static void patiently(Runnable work) {
        while (true) {
            try {
                work.run();
                return;
            } catch (org.apache.kafka.common.errors.TimeoutException late) {
                say("note " + late);
            }
        }
    }

    static void say(String line) {
        System.out.println(line.replace('\n', ' '));
        System.out.flush();
    }
}
