// Writes fixtures/oracle/hashes.jsonl: Kafka's murmur2 of texts, and which of 1 to 12 brokers it chooses for a partition.
//
// Inkless chooses a diskless partition's broker by Utils.toPositive(Utils.murmur2("TOPIC_ID-PARTITION")) % brokers, in
// io.aiven.inkless.metadata.InklessTopicMetadataTransformer; this calls the same methods of Kafka with the same text.
//
// Needs kafka-clients 4.4.0 with all it depends on, as `mvn dependency:copy-dependencies` brings them:
//     java -cp 'jars/*' tests/conformance/HashFixtures.java fixtures/oracle/hashes.jsonl
//     gzip -9n fixtures/oracle/hashes.jsonl

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Utils;

public class HashFixtures {
    static final int TOPICS = 500, PARTITIONS = 6, TEXTS = 2000, MAX_BROKERS = 12, MAX_LENGTH = 20;
    static final int[] NUMBERS = {Integer.MIN_VALUE, Integer.MIN_VALUE + 1, -2, -1, 0, 1, Integer.MAX_VALUE - 1, Integer.MAX_VALUE};
    // The first and last code points of letters of 1 to 4 bytes in UTF-8, without the surrogates.
    static final int[][] LETTERS = {{' ', '~'}, {0xA1, 0x7FF}, {0x800, 0xD7FF}, {0x10000, 0x10FFFF}};

    public static void main(String[] arguments) throws Exception {
        try (PrintWriter out = new PrintWriter(arguments[0], "UTF-8")) {
            for (int number : NUMBERS) out.println(line("positive", "{\"number\": " + number + "}", "{\"positive\": " + Utils.toPositive(number) + "}"));
            Random random = new Random(1);
            for (int topic = 0; topic < TOPICS; topic++) {
                Uuid id = topic == 0 ? Uuid.ZERO_UUID : new Uuid(random.nextLong(), random.nextLong());
                for (int place = 0; place < PARTITIONS; place++) {
                    int partition = place < PARTITIONS / 2 ? place : random.nextInt(1 << (1 + random.nextInt(30)));
                    String input = "{\"topic_id\": \"" + id + "\", \"partition\": " + partition + "}";
                    String text = String.format("%s-%s", id, partition);
                    out.println(line("diskless-partition", input, "{\"murmur2\": " + murmur2(text) + ", \"places\": " + places(text) + "}"));
                }
            }
            for (int number = 0; number < TEXTS; number++) {
                String text = text(random, number % (MAX_LENGTH + 1));
                out.println(line("text", "{\"text\": " + quoted(text) + "}", "{\"murmur2\": " + murmur2(text) + "}"));
            }
        }
    }

    static String line(String kind, String input, String expected) {
        return "{\"kind\": \"" + kind + "\", \"input\": " + input + ", \"expect\": " + expected + "}";
    }

    static int murmur2(String text) {
        return Utils.murmur2(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The place that a text's hash chooses in a list of 1, 2, ... brokers. */
    static List<Integer> places(String text) {
        List<Integer> places = new ArrayList<>();
        for (int brokers = 1; brokers <= MAX_BROKERS; brokers++) places.add(Utils.toPositive(murmur2(text)) % brokers);
        return places;
    }

    static String text(Random random, int length) {
        StringBuilder text = new StringBuilder();
        for (int place = 0; place < length; place++) {
            int[] letters = LETTERS[random.nextInt(LETTERS.length)];
            text.appendCodePoint(letters[0] + random.nextInt(letters[1] - letters[0] + 1));
        }
        return text.toString();
    }

    static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
