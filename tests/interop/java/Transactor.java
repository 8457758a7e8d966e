// A transactional producer that does what lines of its standard input say, one answer a line: "ok ..." or "error NAME ...".
//
//     java Transactor.java BOOTSTRAP TRANSACTIONAL_ID TIMEOUT_MS
//
// init | begin | send TOPIC PARTITION VALUE | offset GROUP TOPIC PARTITION OFFSET | commit | abort
// read TOPIC COUNT: the first COUNT values that a consumer of committed records is given
// pipe FROM TO GROUP COUNT: in a group, COUNT records of a topic into another, each poll a transaction

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Transactor {
    static String bootstrap;
    static KafkaProducer<String, String> producer;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", arguments[1]);
        settings.put("transaction.timeout.ms", arguments[2]);
        settings.put("retry.backoff.ms", "20");
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
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
            System.out.flush();
        }
        System.exit(0);
    }

    static String done(String[] words) throws Exception {
        switch (words[0]) {
            case "init": producer.initTransactions(); return "";
            case "begin": producer.beginTransaction(); return "";
            case "send":
                return "" + producer.send(new ProducerRecord<>(words[1], Integer.parseInt(words[2]), null, words[3])).get().offset();
            case "offset":
                commitOffsets(Map.of(new TopicPartition(words[2], Integer.parseInt(words[3])), new OffsetAndMetadata(Long.parseLong(words[4]))), words[1], null);
                return "";
            case "commit": producer.commitTransaction(); return "";
            case "abort": producer.abortTransaction(); return "";
            case "read": return read(words[1], Integer.parseInt(words[2]));
            case "pipe": return pipe(words[1], words[2], words[3], Integer.parseInt(words[4]));
            default: throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    static KafkaConsumer<String, String> consumer(String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        if (group != null) settings.put("group.id", group);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static String read(String topic, int count) {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(null)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo one : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, one.partition()));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (values.size() < count)
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) values.add(record.value());
        }
        return String.join(" ", values);
    }

    static String pipe(String from, String to, String group, int count) throws Exception {
        int moved = 0;
        try (KafkaConsumer<String, String> consumer = consumer(group)) {
            consumer.subscribe(List.of(from));
            while (moved < count) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(500));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(to, null, null, record.value().toUpperCase()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    moved++;
                }
                commitOffsets(offsets, group, consumer);
                producer.commitTransaction();
            }
        }
        return "" + moved;
    }

    /** By the group's metadata where the release has them (KIP-447), else by its name. */
    static void commitOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, String group, KafkaConsumer<?, ?> consumer) throws Exception {
        try {
            Class<?> metadata = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata");
            Object named = consumer == null ? metadata.getConstructor(String.class).newInstance(group) : KafkaConsumer.class.getMethod("groupMetadata").invoke(consumer);
            KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, metadata).invoke(producer, offsets, named);
        } catch (ClassNotFoundException | NoSuchMethodException old) {
            KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, String.class).invoke(producer, offsets, group);
        }
    }
}
