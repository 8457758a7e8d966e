// What the three makers share: how inputs are drawn, and how answers become lines of a fixture.

import java.io.PrintWriter;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;

public class Drawn {
    static final String[] RACKS = {"a", "b", "eu-1a", "eu-1b", "westeurope/2", "us east", "no-zone"};
    public static final int PARTITIONS = 100;
    static final int IN_FULL = 40;
    public final Random random = new Random(20261128);
    private final PrintWriter out;
    private int lines = 0;

    public Drawn(String file) throws Exception {
        out = new PrintWriter(file, StandardCharsets.UTF_8);
    }

    /** Some racks, one to four; now and then there is none, as null. */
    public List<String> racks() {
        List<String> found = new ArrayList<>();
        for (int place : random.ints(0, RACKS.length).distinct().limit(1 + random.nextInt(4)).toArray()) found.add(RACKS[place]);
        return found;
    }

    /** One to twelve brokers in these racks, by id. */
    public List<Node> brokers(List<String> racks) {
        TreeSet<Integer> ids = new TreeSet<>();
        int count = 1 + random.nextInt(12);
        while (ids.size() < count) ids.add(random.nextInt(random.nextBoolean() ? 20 : 2000));
        List<Node> found = new ArrayList<>();
        for (int id : ids) found.add(new Node(id, "host", 9092, random.nextInt(12) == 0 ? null : racks.get(random.nextInt(racks.size()))));
        return found;
    }

    public Uuid topicId() {
        return new Uuid(random.nextLong(), random.nextLong());
    }

    public <T> T one(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    /** A line: the inputs, and the answers to them, in full or as the first digits of their SHA-256. */
    public void line(String input, List<String> answers) throws Exception {
        String text = String.join("\n", answers);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        String expect = String.format("\"%064x\"", new BigInteger(1, digest)).substring(0, 13) + "\"";
        if (lines++ % 25 == 0 && lines < 25 * IN_FULL) expect = "[\"" + String.join("\", \"", answers) + "\"]";
        out.println("{\"count\": " + answers.size() + ", \"input\": {" + input + "}, \"expect\": " + expect + "}");
    }

    public void close() {
        out.close();
    }

    public static String quoted(String text) {
        return text == null ? "null" : "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    public static String nodes(List<Node> brokers) {
        List<String> found = new ArrayList<>();
        for (Node one : brokers) found.add("[" + one.id() + ", " + quoted(one.rack()) + "]");
        return found.toString();
    }
}
