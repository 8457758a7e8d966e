// Writes fixtures/oracle/hashes.jsonl: Kafka's murmur2 of texts, and what its toPositive makes of numbers.
//
// Needs kafka-clients 4.4.0 with all it depends on, as `mvn dependency:copy-dependencies` brings them:
//     java -cp 'jars/*' tests/conformance/HashFixtures.java fixtures/oracle/hashes.jsonl
//     gzip -9n fixtures/oracle/hashes.jsonl

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.apache.kafka.common.utils.Utils;

public class HashFixtures {
    static final int TEXTS = 2000, MAX_LENGTH = 20;
    static final int[] NUMBERS = {Integer.MIN_VALUE, Integer.MIN_VALUE + 1, -2, -1, 0, 1, Integer.MAX_VALUE - 1, Integer.MAX_VALUE};
    // The first and last code points of letters of 1 to 4 bytes in UTF-8, without the surrogates.
    static final int[][] LETTERS = {{' ', '~'}, {0xA1, 0x7FF}, {0x800, 0xD7FF}, {0x10000, 0x10FFFF}};

    public static void main(String[] arguments) throws Exception {
        try (PrintWriter out = new PrintWriter(arguments[0], "UTF-8")) {
            for (int number : NUMBERS) out.println(line("positive", "{\"number\": " + number + "}", "{\"positive\": " + Utils.toPositive(number) + "}"));
            Random random = new Random(1);
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
