// The Java client as an actor: orders in by lines, one answer a line; see tests/interop/matrix/__init__.py.
// One source for releases from 0.10.2 to 4.4: what not all of them have is called by name.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class JavaActor {
    static final long POLL_MS = 100;
    static String servers;
    static String clientId;
    static final Map<String, Reading> readings = new HashMap<>();
    static final Map<String, KafkaProducer<String, String>> transactional = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = ("ok " + done(Arrays.asList(line.split(" ")))).trim();
            } catch (Throwable problem) {
                Throwable cause = problem;
                while (cause.getCause() != null && cause.getCause() != cause) cause = cause.getCause();
                answer = "error " + cause.getClass().getSimpleName() + " " + String.valueOf(cause.getMessage()).replace('\n', ' ');
            }
            System.out.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    static String done(List<String> words) throws Exception {
        String name = words.size() > 1 ? words.get(1) : "";
        switch (words.get(0)) {
            case "servers":
                servers = name;
                clientId = words.size() > 2 ? words.get(2) : "actor";
                return "";
            case "create":
                return Admin.create(name, Integer.parseInt(words.get(2)));
            case "topics":
                return Admin.topics();
            case "configure":
                return Admin.configure(name, words.get(2), words.get(3));
            case "delete":
                return Admin.delete(name);
            case "produce": {
                Properties settings = settings();
                settings.put("compression.type", words.get(2));
                settings.put("linger.ms", "5");
                try (KafkaProducer<String, String> producer = producer(settings)) {
                    return send(producer, name, words.subList(3, words.size()));
                }
            }
            case "transact":
                return transact(name, words.get(2), words.get(3).equals("commit"), words.subList(4, words.size()));
            case "open":
                readings.put(name, new Reading(words.get(2), words.get(3), words.subList(4, words.size())));
                return "";
            case "holds":
                return readings.get(name).holds(Integer.parseInt(words.get(2)));
            case "read":
                return readings.get(name).read(Integer.parseInt(words.get(2)));
            case "commit":
                return readings.get(name).commit();
            case "close":
                return readings.remove(name).close();
            default:
                throw new IllegalArgumentException(words.get(0));
        }
    }

    static Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("client.id", clientId);
        settings.put("retry.backoff.ms", "20");
        settings.put("metadata.max.age.ms", "2000");
        return settings;
    }

    // producers

    static KafkaProducer<String, String> producer(Properties settings) {
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static String send(KafkaProducer<String, String> producer, String topic, List<String> records) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String text : records) {
            String[] parts = text.split("/", -1);
            ProducerRecord<String, String> record = new ProducerRecord<>(topic, Integer.parseInt(parts[0]), parts[1], parts[2]);
            for (String pair : parts[3].isEmpty() ? new String[0] : parts[3].split(",")) {
                Object headers = call(record, "headers");
                byte[] value = pair.substring(pair.indexOf('=') + 1).getBytes(StandardCharsets.UTF_8);
                call(headers, "add", new Class<?>[] {String.class, byte[].class}, pair.substring(0, pair.indexOf('=')), value);
            }
            sent.add(producer.send(record));
        }
        producer.flush();
        StringBuilder places = new StringBuilder();
        for (Future<RecordMetadata> one : sent) {
            places.append(one.get().partition()).append('/').append(one.get().offset()).append(' ');
        }
        return places.toString();
    }

    static String transact(String id, String topic, boolean commits, List<String> records) throws Exception {
        KafkaProducer<String, String> producer = transactional.get(id);
        if (producer == null) {
            Properties settings = settings();
            settings.put("transactional.id", id);
            settings.put("enable.idempotence", "true");
            producer = producer(settings);
            call(producer, "initTransactions");
            transactional.put(id, producer);
        }
        call(producer, "beginTransaction");
        send(producer, topic, records);
        call(producer, commits ? "commitTransaction" : "abortTransaction");
        return "";
    }

    // a consumer in a thread of its own, which does what it is told between two polls

    static class Reading {
        final ConcurrentLinkedQueue<FutureTask<String>> tasks = new ConcurrentLinkedQueue<>();
        final List<String> found = new ArrayList<>();
        final Object client;
        final Object pollTime;
        final Thread thread;
        int held;
        boolean isOver;
        Throwable problem;

        Reading(String topic, String group, List<String> given) throws Exception {
            Properties settings = settings();
            settings.put("group.id", group);
            String protocol = "classic";
            for (String setting : given) {
                String value = setting.substring(setting.indexOf('=') + 1);
                if (setting.startsWith("protocol=")) protocol = value;
                if (setting.startsWith("rack=")) settings.put("client.rack", value);
                if (setting.startsWith("isolation=")) settings.put("isolation.level", value);
            }
            if (!protocol.equals("share")) {
                settings.put("auto.offset.reset", "earliest");
                settings.put("enable.auto.commit", "false");
            }
            if (protocol.equals("classic")) {
                settings.put("heartbeat.interval.ms", "200");
                settings.put("session.timeout.ms", "60000"); // a busy machine may be silent for the 10 s of old releases
            }
            if (protocol.equals("consumer")) settings.put("group.protocol", "consumer");
            StringDeserializer text = new StringDeserializer();
            if (protocol.equals("share")) {
                Class<?> type = Class.forName("org.apache.kafka.clients.consumer.KafkaShareConsumer");
                Class<?> deserializer = Class.forName("org.apache.kafka.common.serialization.Deserializer");
                client = type.getConstructor(Properties.class, deserializer, deserializer).newInstance(settings, text, text);
            } else {
                client = new KafkaConsumer<>(settings, text, text);
            }
            call(client, "subscribe", new Class<?>[] {Collection.class}, Collections.singletonList(topic));
            pollTime = pollsByDuration() ? java.time.Duration.ofMillis(POLL_MS) : (Object) POLL_MS;
            thread = new Thread(this::run);
            thread.setDaemon(true);
            thread.start();
        }

        boolean pollsByDuration() {
            return Arrays.stream(client.getClass().getMethods())
                .anyMatch(one -> one.getName().equals("poll") && one.getParameterTypes()[0] != long.class);
        }

        void run() {
            Class<?>[] types = {pollTime instanceof Long ? long.class : java.time.Duration.class};
            try {
                while (!isOver) {
                    List<String> seen = new ArrayList<>();
                    for (Object one : (Iterable<?>) call(client, "poll", types, pollTime)) seen.add(told((ConsumerRecord<?, ?>) one));
                    for (FutureTask<String> task = tasks.poll(); task != null; task = tasks.poll()) task.run();
                    int partitions = isOver || !(client instanceof Consumer) ? 0 : ((Consumer<?, ?>) client).assignment().size();
                    synchronized (this) {
                        found.addAll(seen);
                        held = partitions;
                        notifyAll();
                    }
                }
            } catch (Throwable thrown) {
                synchronized (this) {
                    problem = thrown;
                    notifyAll();
                }
            }
        }

        String told(ConsumerRecord<?, ?> record) throws Exception {
            StringBuilder headers = new StringBuilder();
            if (Arrays.stream(ConsumerRecord.class.getMethods()).anyMatch(one -> one.getName().equals("headers"))) {
                for (Object header : (Iterable<?>) call(record, "headers")) {
                    byte[] value = (byte[]) call(header, "value");
                    headers.append(headers.length() > 0 ? "," : "").append(call(header, "key")).append('=');
                    headers.append(new String(value, StandardCharsets.UTF_8));
                }
            }
            return record.partition() + "/" + record.offset() + "/" + record.key() + "/" + record.value() + "/" + headers;
        }

        synchronized String read(int count) throws Exception {
            while (found.size() < count && problem == null) wait();
            if (problem != null) throw new Exception(problem);
            List<String> first = found.subList(0, count);
            String answer = String.join(" ", first);
            first.clear();
            return answer;
        }

        synchronized String holds(int count) throws Exception {
            while (held != count && problem == null) wait();
            if (problem != null) throw new Exception(problem);
            return "";
        }

        String commit() throws Exception {
            return carriedOut(() -> {
                call(client, "commitSync");
                return "";
            });
        }

        String close() throws Exception {
            String answer = carriedOut(() -> {
                isOver = true;
                call(client, "close");
                return "";
            });
            thread.join();
            return answer;
        }

        String carriedOut(Callable<String> work) throws Exception {
            FutureTask<String> task = new FutureTask<>(work);
            tasks.add(task);
            while (!task.isDone()) {
                synchronized (this) {
                    if (problem != null) throw new Exception(problem);
                    wait(10);
                }
            }
            return task.get();
        }
    }

    // the admin client, which 0.10.2 does not have

    static class Admin {
        static Object client() throws Exception {
            Class<?> type = Class.forName("org.apache.kafka.clients.admin.AdminClient");
            Properties settings = new Properties();
            settings.put("bootstrap.servers", servers);
            settings.put("retry.backoff.ms", "20");
            return type.getMethod("create", Properties.class).invoke(null, settings);
        }

        interface Work {
            String with(Object client) throws Exception;
        }

        static String done(Work work) throws Exception {
            Object client = client();
            try {
                return work.with(client);
            } finally {
                ((AutoCloseable) client).close();
            }
        }

        static Object got(Object result, String future) throws Exception {
            return ((Future<?>) call(result, future)).get();
        }

        static Class<?> type(String name) throws Exception {
            return Class.forName("org.apache.kafka.clients.admin." + name);
        }

        static String create(String name, int partitions) throws Exception {
            Object topic = type("NewTopic").getConstructor(String.class, int.class, short.class).newInstance(name, partitions, (short) 3);
            return done(client -> {
                got(call(client, "createTopics", new Class<?>[] {Collection.class}, Collections.singletonList(topic)), "all");
                return "";
            });
        }

        static String topics() throws Exception {
            return done(client -> String.join(" ", new TreeSet<>(strings(got(call(client, "listTopics"), "names")))));
        }

        static List<String> strings(Object found) {
            List<String> all = new ArrayList<>();
            for (Object one : (Iterable<?>) found) all.add((String) one);
            return all;
        }

        static String configure(String topic, String name, String value) throws Exception {
            Class<?> resourceType = Class.forName("org.apache.kafka.common.config.ConfigResource");
            Object kind = resourceType.getClasses()[0].getField("TOPIC").get(null);
            Object resource = resourceType.getConstructor(kind.getClass(), String.class).newInstance(kind, topic);
            Object entry = type("ConfigEntry").getConstructor(String.class, String.class).newInstance(name, value);
            return done(client -> {
                boolean isOld = Arrays.stream(client.getClass().getMethods()).noneMatch(one -> one.getName().equals("incrementalAlterConfigs"));
                Class<?>[] map = {Map.class};
                if (isOld) {
                    Object config = type("Config").getConstructor(Collection.class).newInstance(Collections.singletonList(entry));
                    got(call(client, "alterConfigs", map, Collections.singletonMap(resource, config)), "all");
                } else {
                    Class<?> operation = type("AlterConfigOp");
                    Object set = operation.getClasses()[0].getField("SET").get(null);
                    Object change = operation.getConstructor(type("ConfigEntry"), set.getClass()).newInstance(entry, set);
                    Object changes = Collections.singletonMap(resource, Collections.singletonList(change));
                    got(call(client, "incrementalAlterConfigs", map, changes), "all");
                }
                Object result = call(client, "describeConfigs", new Class<?>[] {Collection.class}, Collections.singletonList(resource));
                Object config = ((Map<?, ?>) got(result, "all")).get(resource);
                return (String) call(call(config, "get", new Class<?>[] {String.class}, name), "value");
            });
        }

        static String delete(String topic) throws Exception {
            return done(client -> {
                got(call(client, "deleteTopics", new Class<?>[] {Collection.class}, Collections.singletonList(topic)), "all");
                return "";
            });
        }
    }

    // by name

    static Object call(Object target, String name) throws Exception {
        return call(target, name, new Class<?>[0]);
    }

    static Object call(Object target, String name, Class<?>[] types, Object... values) throws Exception {
        Method method = target.getClass().getMethod(name, types);
        method.setAccessible(true);
        try {
            return method.invoke(target, values);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause() instanceof Exception ? (Exception) thrown.getCause() : thrown;
        }
    }
}
