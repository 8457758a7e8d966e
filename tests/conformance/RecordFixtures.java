// Writes fixtures/records/*.json: record bytes made, stored and down-converted by Apache Kafka's own classes.
//
// Needs kafka-clients, kafka-storage and kafka-server-common 3.9.1 (the last line that still writes every magic) with all they
// depend on, as `mvn dependency:copy-dependencies` brings them:
//     java -cp 'jars/*' tests/conformance/RecordFixtures.java fixtures/records

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;

public class RecordFixtures {
    static final HexFormat HEX = HexFormat.of();
    static final long START_MS = 1_700_000_000_000L;
    static final long STORED_AT_OFFSET = 5_000L;
    static final int STORED_LEADER_EPOCH = 7;
    static final long LOG_APPEND_TIME_MS = 1_800_000_000_123L;

    record Entry(long offset, long timestamp, byte[] key, byte[] value, Header[] headers) { }

    record Batch(byte magic, CompressionType codec, TimestampType timestampType, long baseOffset, long logAppendTime, long producerId,
                 short producerEpoch, int baseSequence, boolean transactional, int leaderEpoch, long deleteHorizonMs, List<Entry> entries) { }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        for (byte magic = 0; magic <= 2; magic++) {
            List<String> cases = new ArrayList<>();
            for (CompressionType codec : CompressionType.values()) {
                if (codec != CompressionType.ZSTD || magic == 2) addCases(cases, magic, codec);
            }
            write(folder, "magic" + magic, cases);
        }
        write(folder, "control", controlCases());
    }

    static void addCases(List<String> cases, byte magic, CompressionType codec) throws Exception {
        boolean compressed = codec != CompressionType.NONE;
        cases.add(produced("few", magic, plain(magic, codec, 0, few(0, magic))));
        cases.add(produced("many", magic, plain(magic, codec, 0, many(20))));
        cases.add(produced("one of nulls", magic, plain(magic, codec, 0, List.of(new Entry(0, stamp(magic, 0), null, null, new Header[0])))));
        if (compressed) cases.add(produced("one long value", magic, plain(magic, codec, 0, List.of(new Entry(0, stamp(magic, 5), bytes("k"), longValue(), new Header[0])))));
        List<Entry> gaps = new ArrayList<>();
        for (int i = 0; i < 5; i++) gaps.add(new Entry(1_000 + 7L * i, stamp(magic, 100 - i), bytes("key" + i), bytes("value" + i), new Header[0]));
        cases.add(stored("gaps between offsets", plain(magic, codec, 1_000, gaps)));
        cases.add(stored("two batches", plain(magic, codec, 20, few(20, magic)), plain(magic, codec, 30, few(30, magic))));
        if (magic >= 1) {
            cases.add(stored("log append time", new Batch(magic, codec, TimestampType.LOG_APPEND_TIME, 50, START_MS + 77, -1, (short) -1, -1, false, 3, -1, few(50, magic))));
        }
        if (magic == 2) {
            cases.add(produced("idempotent", magic, new Batch(magic, codec, TimestampType.CREATE_TIME, 0, -1, 4_000_000_000L, (short) 12, 345, false, -1, -1, few(0, magic))));
            cases.add(produced("transactional", magic, new Batch(magic, codec, TimestampType.CREATE_TIME, 0, -1, 9L, (short) 0, 2_147_483_646, true, -1, -1, few(0, magic))));
            cases.add(stored("delete horizon", new Batch(magic, codec, TimestampType.CREATE_TIME, 60, -1, -1, (short) -1, -1, false, 1, START_MS + 9_000, few(60, magic))));
        }
    }

    static long stamp(byte magic, long delta) { return magic == 0 ? RecordBatch.NO_TIMESTAMP : START_MS + delta; }

    static List<Entry> few(long base, byte magic) {
        Header[] none = new Header[0];
        Header[] some = {new RecordHeader("trace", bytes("ab")), new RecordHeader("", new byte[0]), new RecordHeader("none", (byte[]) null), new RecordHeader("h\u00e9", bytes("\u20ac"))};
        return List.of(
            new Entry(base, stamp(magic, 10), bytes("first"), bytes("a value"), magic == 2 ? some : none),
            new Entry(base + 1, stamp(magic, 3_000_000_000L), null, bytes("no key"), none),
            new Entry(base + 2, stamp(magic, -5), bytes("tombstone"), null, none),
            new Entry(base + 3, RecordBatch.NO_TIMESTAMP, new byte[0], new byte[0], none));
    }

    static List<Entry> many(int count) {
        List<Entry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++)
            entries.add(new Entry(i, START_MS + i / 3, bytes("user-" + i % 5), bytes("the same words again and again ".repeat(i % 4) + i), new Header[0]));
        return entries;
    }

    static byte[] longValue() {
        // 100,000 bytes, words and noise by turns: more than one block of lz4 (64 KiB) and of snappy (32 KiB).
        byte[] value = new byte[100_000];
        long state = 12345;
        for (int i = 0; i < value.length; i++) {
            state = (state * 1103515245L + 12345L) & 0x7fffffffL;
            value[i] = i % 8000 < 100 ? (byte) (state >> 16) : (byte) ('a' + i % 23);
        }
        return value;
    }

    static Batch plain(byte magic, CompressionType codec, long baseOffset, List<Entry> entries) {
        return new Batch(magic, codec, magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : TimestampType.CREATE_TIME, baseOffset, -1, -1, (short) -1, -1, false, -1, -1, entries);
    }

    static ByteBuffer build(Batch batch) {
        ByteBufferOutputStream out = new ByteBufferOutputStream(1024);
        try (MemoryRecordsBuilder builder = new MemoryRecordsBuilder(out, batch.magic, Compression.of(batch.codec).build(), batch.timestampType, batch.baseOffset,
                batch.logAppendTime, batch.producerId, batch.producerEpoch, batch.baseSequence, batch.transactional, false, batch.leaderEpoch, 1 << 30, batch.deleteHorizonMs)) {
            for (Entry entry : batch.entries) builder.appendWithOffset(entry.offset, entry.timestamp, entry.key, entry.value, entry.headers);
            return builder.build().buffer();
        }
    }

    static MemoryRecords join(Batch... batches) {
        ByteBufferOutputStream out = new ByteBufferOutputStream(1024);
        for (Batch batch : batches) out.write(build(batch));
        ByteBuffer buffer = out.buffer();
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    /** A case as a producer sends it: with what a broker stores of it. */
    static String produced(String name, byte magic, Batch batch) throws Exception {
        String stored = "\"stored\": " + append(batch, batch.timestampType)
            + (magic == 0 ? "" : ", \"stored_log_append_time\": " + append(batch, TimestampType.LOG_APPEND_TIME));
        return describe(name, join(batch), ", " + stored);
    }

    /** A case as a log holds it: with what older consumers are sent of it. */
    static String stored(String name, Batch... batches) throws Exception { return describe(name, join(batches), ""); }

    static String append(Batch batch, TimestampType timestampType) throws Exception {
        LogValidator.MetricsRecorder metrics = new LogValidator.MetricsRecorder() {
            public void recordInvalidMagic() { }
            public void recordInvalidOffset() { }
            public void recordInvalidSequence() { }
            public void recordInvalidChecksums() { }
            public void recordNoKeyCompactedTopic() { }
        };
        Time time = new Time() {
            public long milliseconds() { return LOG_APPEND_TIME_MS; }
            public long nanoseconds() { return 0; }
            public void sleep(long ms) { }
            public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
        };
        LogValidator.ValidationResult result = new LogValidator(join(batch), new TopicPartition("topic", 0), time, batch.codec, Compression.of(batch.codec).build(), false,
            batch.magic, timestampType, Long.MAX_VALUE, Long.MAX_VALUE, STORED_LEADER_EPOCH, AppendOrigin.CLIENT, MetadataVersion.latestTesting())
            .validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(STORED_AT_OFFSET), metrics, BufferSupplier.NO_CACHING);
        return "{\"hex\": \"" + hex(result.validatedRecords) + "\", \"max_timestamp\": " + result.maxTimestampMs + ", \"records\": " + records(result.validatedRecords) + "}";
    }

    static String describe(String name, MemoryRecords records, String more) throws Exception {
        StringBuilder line = new StringBuilder("{\"name\": \"" + name + "\", \"codec\": \"" + records.batches().iterator().next().compressionType().name + "\"");
        line.append(", \"hex\": \"" + hex(records) + "\", \"batches\": " + batches(records) + ", \"records\": " + records(records) + more);
        for (byte magic = 0; magic < records.batches().iterator().next().magic(); magic++) {
            line.append(", \"down_converted_to_" + magic + "\": ");
            try {
                MemoryRecords converted = records.downConvert(magic, 0, Time.SYSTEM).records();
                line.append("{\"hex\": \"" + hex(converted) + "\", \"records\": " + records(converted) + "}");
            } catch (RuntimeException refused) {
                line.append("{\"refused\": \"" + refused.getClass().getSimpleName() + "\"}");
            }
        }
        return line.append("}").toString();
    }

    static String batches(MemoryRecords records) {
        List<String> items = new ArrayList<>();
        for (MutableRecordBatch batch : records.batches()) {
            items.add(String.format("{\"magic\": %d, \"size\": %d, \"base_offset\": %d, \"last_offset\": %d, \"codec\": \"%s\", \"log_append_time\": %s, \"max_timestamp\": %d, \"crc\": %d, "
                + "\"count\": %s, \"producer_id\": %d, \"producer_epoch\": %d, \"base_sequence\": %d, \"last_sequence\": %d, \"transactional\": %s, \"control\": %s, \"leader_epoch\": %d, \"delete_horizon_ms\": %s}",
                batch.magic(), batch.sizeInBytes(), batch.baseOffset(), batch.lastOffset(), batch.compressionType().name, batch.timestampType() == TimestampType.LOG_APPEND_TIME, batch.maxTimestamp(), batch.checksum(),
                batch.countOrNull(), batch.producerId(), batch.producerEpoch(), batch.baseSequence(), batch.lastSequence(), batch.isTransactional(), batch.isControlBatch(), batch.partitionLeaderEpoch(),
                batch.deleteHorizonMs().isPresent() ? Long.toString(batch.deleteHorizonMs().getAsLong()) : "null"));
        }
        return "[" + String.join(", ", items) + "]";
    }

    static String records(MemoryRecords records) throws Exception {
        List<String> items = new ArrayList<>();
        for (Record record : records.records()) {
            List<String> headers = new ArrayList<>();
            for (Header header : record.headers()) headers.add("[\"" + header.key() + "\", " + content(header.value() == null ? null : ByteBuffer.wrap(header.value())) + "]");
            items.add("{\"offset\": " + record.offset() + ", \"timestamp\": " + record.timestamp() + ", \"sequence\": " + record.sequence() + ", \"key\": " + content(record.key()) + ", \"value\": " + content(record.value())
                + ", \"headers\": [" + String.join(", ", headers) + "]}");
        }
        return "[" + String.join(", ", items) + "]";
    }

    static List<String> controlCases() throws Exception {
        List<String> cases = new ArrayList<>();
        cases.add(describe("commit", MemoryRecords.withEndTransactionMarker(100, START_MS, 4, 77, (short) 5, new EndTransactionMarker(ControlRecordType.COMMIT, 9)), ", \"type\": \"COMMIT\", \"coordinator_epoch\": 9"));
        cases.add(describe("abort", MemoryRecords.withEndTransactionMarker(101, START_MS, 4, 77, (short) 5, new EndTransactionMarker(ControlRecordType.ABORT, 10)), ", \"type\": \"ABORT\", \"coordinator_epoch\": 10"));
        cases.add(describe("leader change", MemoryRecords.withLeaderChangeMessage(102, START_MS, 6, ByteBuffer.allocate(512),
            new LeaderChangeMessage().setLeaderId(2).setVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(2)))), ", \"type\": \"LEADER_CHANGE\""));
        cases.add(describe("snapshot header", MemoryRecords.withSnapshotHeaderRecord(0, START_MS, 1, ByteBuffer.allocate(512), new SnapshotHeaderRecord().setLastContainedLogTimestamp(START_MS - 1)), ", \"type\": \"SNAPSHOT_HEADER\""));
        cases.add(describe("snapshot footer", MemoryRecords.withSnapshotFooterRecord(3, START_MS, 1, ByteBuffer.allocate(512), new SnapshotFooterRecord()), ", \"type\": \"SNAPSHOT_FOOTER\""));
        cases.add(describe("kraft version", MemoryRecords.withKRaftVersionRecord(1, START_MS, 1, ByteBuffer.allocate(512), new KRaftVersionRecord().setKRaftVersion((short) 1)), ", \"type\": \"KRAFT_VERSION\""));
        cases.add(describe("kraft voters", MemoryRecords.withVotersRecord(2, START_MS, 1, ByteBuffer.allocate(512), new VotersRecord().setVoters(List.of(new VotersRecord.Voter().setVoterId(3)))), ", \"type\": \"KRAFT_VOTERS\""));
        return cases;
    }

    static byte[] bytes(String text) { return text.getBytes(StandardCharsets.UTF_8); }

    static String hex(MemoryRecords records) {
        ByteBuffer buffer = records.buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HEX.formatHex(bytes);
    }

    /** Bytes as hex; what is over 1,000 bytes as its length and SHA-256. */
    static String content(ByteBuffer buffer) throws Exception {
        if (buffer == null) return "null";
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        if (bytes.length <= 1_000) return "\"" + HEX.formatHex(bytes) + "\"";
        return "{\"length\": " + bytes.length + ", \"sha256\": \"" + HEX.formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)) + "\"}";
    }

    static void write(Path folder, String name, List<String> cases) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve(name + ".json"), "{\"origin\": \"Apache Kafka 3.9.1: MemoryRecordsBuilder, LogValidator and MemoryRecords.downConvert, by tests/conformance/RecordFixtures.java\",\n"
            + "\"stored_at_offset\": " + STORED_AT_OFFSET + ", \"stored_leader_epoch\": " + STORED_LEADER_EPOCH + ", \"log_append_time_ms\": " + LOG_APPEND_TIME_MS + ",\n\"cases\": [\n"
            + String.join(",\n", cases) + "\n]}\n");
    }
}
