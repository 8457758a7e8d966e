// Consumers of one group that do what lines of standard input say, one answer a line: "ok ..." or "error NAME ...".
// Each polls by itself all the time.
//
//     java Member.java BOOTSTRAP
//
// open NAME GROUP topic|pattern WHAT [key=value...]   a consumer, with settings of its own
// settle NAME=COUNT...                                wait until consumers have so many partitions; each with them:
//                                                     name:topic-partition,topic-partition
// close NAME

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Member {
    static String bootstrap;
    static final Map<String, Poller> pollers = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = ("ok " + done(line.split(" "))).trim();
            } catch (Exception problem) {
                answer = "error " + problem.getClass().getSimpleName() + " " + String.valueOf(problem.getMessage()).replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    static String done(String[] words) throws Exception {
        Poller poller = pollers.get(words[1]);
        switch (words[0]) {
            case "open":
                Properties settings = new Properties();
                settings.put("bootstrap.servers", bootstrap);
                settings.put("group.id", words[2]);
                settings.put("client.id", words[1]);
                settings.put("auto.offset.reset", "earliest");
                settings.put("metadata.max.age.ms", "1000");
                for (int i = 5; i < words.length; i++) {
                    int sign = words[i].indexOf('=');
                    settings.put(words[i].substring(0, sign), words[i].substring(sign + 1));
                }
                poller = new Poller(settings, words[3], words[4]);
                pollers.put(words[1], poller);
                poller.start();
                return "";
            case "settle":
                return settled(List.of(words).subList(1, words.length));
            case "close":
                pollers.remove(words[1]);
                poller.ends = true;
                poller.consumer.wakeup();
                poller.join();
                return "";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    static String settled(List<String> wanted) throws Exception {
        while (true) {
            boolean right = true;
            StringBuilder told = new StringBuilder();
            for (String one : wanted) {
                String name = one.substring(0, one.indexOf('='));
                Poller poller = pollers.get(name);
                if (poller.failed != null) throw new Exception(name, poller.failed);
                Set<String> held = poller.held;
                right &= held.size() == Integer.parseInt(one.substring(one.indexOf('=') + 1));
                told.append(name).append(':').append(String.join(",", held)).append(' ');
            }
            if (right) return told.toString();
            Thread.sleep(20);
        }
    }

    static class Poller extends Thread {
        final KafkaConsumer<String, String> consumer;
        volatile Set<String> held = Set.of();
        volatile boolean ends = false;
        volatile Throwable failed;

        Poller(Properties settings, String how, String what) {
            consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            if (how.equals("pattern")) consumer.subscribe(new SubscriptionPattern(what));
            else consumer.subscribe(List.of(what.split(",")));
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (!ends) {
                    consumer.poll(Duration.ofMillis(100));
                    Set<String> names = new TreeSet<>();
                    for (TopicPartition one : consumer.assignment()) names.add(one.toString());
                    held = names;
                }
            } catch (WakeupException end) {
                // asked to close
            } catch (Throwable problem) {
                failed = problem;
            } finally {
                consumer.close();
            }
        }
    }
}
