package kafka_rack.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.spark.sql.api.java.UDF4;

/**
 * Apache Kafka's generated message classes as a function of Spark SQL, for the compiler inside Spark, which knows
 * neither lambdas nor generic types.
 *
 * call(class, version, bytes, json) gives three lines: the bytes, in hex, that Kafka writes for what it read; the JSON
 * that its converter prints of it; and the bytes, in hex, that it writes for the JSON given, empty where none was. A line
 * that could not be had begins with "!" and says why.
 */
public class KafkaClasses implements UDF4 {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final char[] DIGITS = "0123456789abcdef".toCharArray();

    public Object call(Object name, Object version, Object data, Object json) throws Exception {
        return answer((String) name, ((Number) version).shortValue(), (byte[]) data, (String) json);
    }

    /** The lowest and the highest version that a class knows, or why that cannot be told. */
    public String versions(String name) {
        try {
            Class kind = classNamed(name);
            return kind.getField("LOWEST_SUPPORTED_VERSION").get(null) + " "
                + kind.getField("HIGHEST_SUPPORTED_VERSION").get(null);
        } catch (Throwable error) {
            return said(error);
        }
    }

    private static String answer(String name, short version, byte[] data, String json) {
        String again;
        String printed = "!";
        try {
            Class kind = classNamed(name);
            Message message = (Message) kind.getConstructor(new Class[0]).newInstance(new Object[0]);
            ByteBuffer buffer = ByteBuffer.wrap(data);
            message.read(new ByteBufferAccessor(buffer), version);
            again = buffer.hasRemaining() ? "!bytes left over: " + buffer.remaining() : hex(message, version);
            try {
                Object tree = classNamed(name + "JsonConverter")
                    .getMethod("write", new Class[] {kind, short.class})
                    .invoke(null, new Object[] {message, Short.valueOf(version)});
                printed = MAPPER.writeValueAsString(tree);
            } catch (Throwable error) {
                printed = said(error);
            }
        } catch (Throwable error) {
            again = said(error);
        }
        return again + "\n" + printed + "\n" + (json.isEmpty() ? "" : written(name, version, json));
    }

    private static String written(String name, short version, String json) {
        try {
            Object message = classNamed(name + "JsonConverter")
                .getMethod("read", new Class[] {JsonNode.class, short.class})
                .invoke(null, new Object[] {MAPPER.readTree(json), Short.valueOf(version)});
            return hex((Message) message, version);
        } catch (Throwable error) {
            return said(error);
        }
    }

    private static Class classNamed(String name) throws ClassNotFoundException {
        return Class.forName(name, true, KafkaClasses.class.getClassLoader());
    }

    private static String hex(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        byte[] bytes = buffer.array();
        char[] text = new char[2 * bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            text[2 * i] = DIGITS[(bytes[i] >> 4) & 15];
            text[2 * i + 1] = DIGITS[bytes[i] & 15];
        }
        return new String(text);
    }

    private static String said(Throwable error) {
        Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
        return "!" + String.valueOf(cause).replace('\n', ' ');
    }
}
