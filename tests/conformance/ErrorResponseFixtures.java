// Writes fixtures/error_responses/kafka-VERSION.jsonl: what getErrorResponse of Apache Kafka's own request classes gives.
//
// Needs kafka-clients with all it depends on, as `mvn dependency:copy-dependencies` brings them; 4.4.0 for the versions that there are,
// 3.9.1 for those that 4.x dropped (the second argument names the file that has the others):
//     java -cp 'jars-4.4.0/*' tests/conformance/ErrorResponseFixtures.java fixtures/error_responses/kafka-4.4.0.jsonl
//     java -cp 'jars-3.9.1/*' tests/conformance/ErrorResponseFixtures.java fixtures/error_responses/kafka-3.9.1.jsonl fixtures/error_responses/kafka-4.4.0.jsonl
//     gzip -9n fixtures/error_responses/*.jsonl

import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

public class ErrorResponseFixtures {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        Set<String> present = new HashSet<>();
        if (arguments.length > 1)
            for (String line : Files.readAllLines(Path.of(arguments[1]))) present.add(line.substring(0, line.indexOf(", \"fields\"")));
        try (PrintWriter out = new PrintWriter(arguments[0], "UTF-8")) {
            for (ApiKeys api : ApiKeys.values()) {
                ApiMessageType type = ApiMessageType.fromApiKey(api.id);
                for (short version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(true); version++) {
                    if (version < 0) continue;
                    String start = String.format("{\"api_key\": %d, \"version\": %d", api.id, version);
                    if (present.contains(start)) continue;
                    for (boolean filled : new boolean[] {true, false}) {
                        String responses = responses(api, version, filled);
                        if (responses != null) out.println(start + ", \"fields\": \"" + (filled ? "filled" : "empty") + "\", " + responses + "}");
                    }
                }
            }
        }
    }

    /** The request's body and what answers it, by error; null where Kafka's class does not take such a request. */
    static String responses(ApiKeys api, short version, boolean filled) throws Exception {
        Struct struct = struct(api.messageType.requestSchemas()[version], new int[] {0}, filled);
        ByteBuffer body = ByteBuffer.allocate(struct.sizeOf());
        struct.writeTo(body);
        String request = HEX.formatHex(body.array());
        Map<String, Throwable> errors = new LinkedHashMap<>();
        errors.put("unexpected", new IllegalStateException("a handler failed"));
        errors.put("refused", new ClusterAuthorizationException("not for you"));
        errors.put("refused without words", Errors.CLUSTER_AUTHORIZATION_FAILED.exception());
        List<String> found = new ArrayList<>();
        for (Map.Entry<String, Throwable> error : errors.entrySet()) {
            String answer;
            try {
                AbstractResponse response = parsed(api, version, body).getErrorResponse(0, error.getValue());
                answer = response == null ? "null" : "\"" + HEX.formatHex(bytes(response.data(), version)) + "\"";
            } catch (Exception problem) {
                System.err.println(api + " v" + version + (filled ? " filled: " : " empty: ") + problem);
                return null;
            }
            found.add("\"" + error.getKey() + "\": " + answer);
        }
        return "\"request\": \"" + request + "\", \"responses\": {" + String.join(", ", found) + "}";
    }

    /** AbstractRequest.parseRequest, which takes a ByteBuffer in 3.9 and a Readable in 4.x. */
    static AbstractRequest parsed(ApiKeys api, short version, ByteBuffer body) throws Exception {
        ByteBuffer bytes = body.duplicate();
        bytes.flip();
        for (Method method : AbstractRequest.class.getMethods())
            if (method.getName().equals("parseRequest")) {
                Object source = method.getParameterTypes()[2] == ByteBuffer.class ? bytes : new ByteBufferAccessor(bytes);
                Object both = method.invoke(null, api, version, source);
                return (AbstractRequest) both.getClass().getField("request").get(both);
            }
        throw new IllegalStateException("there is no parseRequest");
    }

    static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    /** A struct whose arrays have two elements, no two texts, numbers or ids alike; or one of empty arrays, nulls and zeros. */
    static Struct struct(Schema schema, int[] count, boolean filled) throws Exception {
        Struct struct = new Struct(schema);
        for (BoundField field : schema.fields()) struct.set(field, value(field.def.type, count, filled));
        return struct;
    }

    /** MemoryRecords.EMPTY, from the package that it has in this Kafka. */
    static Object noRecords() throws Exception {
        Class<?> records;
        try {
            records = Class.forName("org.apache.kafka.common.record.MemoryRecords");
        } catch (ClassNotFoundException moved) {
            records = Class.forName("org.apache.kafka.common.record.internal.MemoryRecords");
        }
        return records.getField("EMPTY").get(null);
    }

    static Object value(Type type, int[] count, boolean filled) throws Exception {
        if (type instanceof TaggedFields) return new TreeMap<Integer, Object>();
        if (type instanceof Schema schema) return struct(schema, count, filled);
        if (!filled && type.isNullable()) return null;
        if (type.isArray()) {
            Type element = type.arrayElementType().get();
            return filled ? new Object[] {value(element, count, true), value(element, count, true)} : new Object[0];
        }
        int number = filled ? ++count[0] : 0;
        return switch (type.toString()) {
            case "BOOLEAN" -> false;
            case "INT8" -> (byte) number;
            case "INT16" -> (short) number;
            case "UINT16", "INT32" -> number;
            case "UINT32", "INT64" -> (long) number;
            case "FLOAT64" -> (double) number;
            case "UUID" -> new Uuid(0, number);
            case "STRING", "COMPACT_STRING", "NULLABLE_STRING", "COMPACT_NULLABLE_STRING" -> filled ? "name-" + number : "";
            case "BYTES", "COMPACT_BYTES", "NULLABLE_BYTES", "COMPACT_NULLABLE_BYTES" -> ByteBuffer.allocate(filled ? 1 : 0);
            case "RECORDS", "COMPACT_RECORDS", "NULLABLE_RECORDS", "COMPACT_NULLABLE_RECORDS" -> noRecords();
            default -> {
                if (type.getClass().getSimpleName().contains("Nullable")) yield null;
                throw new IllegalStateException(type.toString());
            }
        };
    }
}
