import java.io.FileInputStream;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;

/** Connects with each properties file, and prints the topics it sees or the error it gets. */
public class TlsClients {
    public static void main(String[] arguments) throws Exception {
        for (String file : arguments) {
            Properties properties = new Properties();
            try (FileInputStream stream = new FileInputStream(file)) {
                properties.load(stream);
            }
            try (Admin admin = Admin.create(properties)) {
                System.out.println(admin.listTopics().names().get());
            } catch (Exception error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                System.out.println(cause.getClass().getSimpleName());
            }
        }
    }
}
