import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;

/** Logs in by each mechanism with the password given, and prints the topics it sees or the error it gets. */
public class Logins {
    public static void main(String[] arguments) {
        for (String mechanism : new String[] {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}) {
            String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
            Properties properties = new Properties();
            properties.put("bootstrap.servers", arguments[0]);
            properties.put("security.protocol", "SASL_PLAINTEXT");
            properties.put("sasl.mechanism", mechanism);
            properties.put("sasl.jaas.config", String.format(
                "org.apache.kafka.common.security.%s required username=\"alice\" password=\"%s\";", module, arguments[1]));
            try (Admin admin = Admin.create(properties)) {
                System.out.println(mechanism + ": " + admin.listTopics().names().get());
            } catch (Exception error) {
                System.out.println(mechanism + ": " + error.getCause().getClass().getSimpleName());
            }
        }
    }
}
