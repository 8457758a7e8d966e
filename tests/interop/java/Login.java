import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;

/** Logs in with each JAAS configuration given, by one mechanism, and prints the topics it sees or the error it gets. */
public class Login {
    public static void main(String[] arguments) {
        for (int place = 2; place < arguments.length; place++) {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", arguments[0]);
            properties.put("security.protocol", "SASL_PLAINTEXT");
            properties.put("sasl.mechanism", arguments[1]);
            properties.put("sasl.jaas.config", arguments[place]);
            try (Admin admin = Admin.create(properties)) {
                System.out.println(admin.listTopics().names().get());
            } catch (Exception error) {
                System.out.println(error.getCause().getClass().getSimpleName() + ": " + error.getCause().getMessage());
            }
        }
    }
}
