import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.jar.JarFile;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Apache Kafka's generated message classes behind a line in, a line out.
 *
 * <pre>
 * versions NAME              -> ok LOWEST HIGHEST | no
 * json NAME VERSION HEX      -> ok HEX JSON         what was read, written again, and as Kafka's converter prints it
 * bytes NAME VERSION JSON    -> ok HEX
 * </pre>
 *
 * Whatever goes wrong is answered by "error" and what Java says.
 */
public class MessageOracle {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();
    private static final Map<String, String> CONVERTERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        findConverters();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answered(line));
        }
    }

    /** Each generated message has a converter beside it; their names tell which messages there are. */
    private static void findConverters() throws Exception {
        String suffix = "JsonConverter.class";
        for (String path : System.getProperty("java.class.path").split(":")) {
            if (!path.endsWith(".jar")) {
                continue;
            }
            try (JarFile jar = new JarFile(path)) {
                jar.stream().map(entry -> entry.getName()).filter(name -> name.endsWith(suffix)).forEach(name -> {
                    String full = name.substring(0, name.length() - ".class".length()).replace('/', '.');
                    String simple = full.substring(full.lastIndexOf('.') + 1);
                    CONVERTERS.putIfAbsent(simple.substring(0, simple.length() - "JsonConverter".length()), full);
                });
            }
        }
    }

    private static String answered(String line) {
        try {
            return answer(line);
        } catch (InvocationTargetException error) {
            return said(error.getCause());
        } catch (Throwable error) {
            return said(error);
        }
    }

    private static String said(Throwable error) {
        return "error " + String.valueOf(error).replace('\n', ' ');
    }

    private static String answer(String line) throws Exception {
        String[] words = line.split(" ", 4);
        Class<?> converter = converterOf(words[1]);
        if (converter == null) {
            return "no";
        }
        Class<?> kind = Class.forName(converter.getName().replaceAll("JsonConverter$", ""));
        if (words[0].equals("versions")) {
            return "ok " + kind.getField("LOWEST_SUPPORTED_VERSION").get(null) + " "
                + kind.getField("HIGHEST_SUPPORTED_VERSION").get(null);
        }
        short version = Short.parseShort(words[2]);
        String given = words.length > 3 ? words[3] : "";
        if (words[0].equals("bytes")) {
            JsonNode json = MAPPER.readTree(given);
            Message message = (Message) converter.getMethod("read", JsonNode.class, short.class).invoke(null, json, version);
            return "ok " + HEX.formatHex(bytes(message, version));
        }
        Message message = (Message) kind.getConstructor().newInstance();
        ByteBuffer buffer = ByteBuffer.wrap(HEX.parseHex(given));
        message.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            return "error " + buffer.remaining() + " bytes left over";
        }
        Object json = converter.getMethod("write", kind, short.class).invoke(null, message, version);
        return "ok " + HEX.formatHex(bytes(message, version)) + " " + MAPPER.writeValueAsString(json);
    }

    private static Class<?> converterOf(String name) throws ClassNotFoundException {
        for (String spelling : Arrays.asList(name, name + "Data")) {
            if (CONVERTERS.containsKey(spelling)) {
                return Class.forName(CONVERTERS.get(spelling));
            }
        }
        return null;
    }

    private static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }
}
