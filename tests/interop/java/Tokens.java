import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeDelegationTokenOptions;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.token.delegation.DelegationToken;

/** Has a token made, shows it, logs in by it, puts its end off, asks for another with it and ends it. */
public class Tokens {
    static Admin admin(String servers, String options) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("security.protocol", "SASL_PLAINTEXT");
        properties.put("sasl.mechanism", "SCRAM-SHA-512");
        properties.put("sasl.jaas.config",
            "org.apache.kafka.common.security.scram.ScramLoginModule required " + options + ";");
        return Admin.create(properties);
    }

    interface Step {
        Object take() throws Exception;
    }

    static void say(String what, Step step) {
        try {
            System.out.println(what + ": " + step.take());
        } catch (Exception error) {
            System.out.println(what + ": " + error.getCause().getClass().getSimpleName());
        }
    }

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        try (Admin alice = admin(servers, "username=\"alice\" password=\"secret\"")) {
            KafkaPrincipal bob = new KafkaPrincipal("User", "bob");
            DelegationToken token = alice.createDelegationToken(
                new CreateDelegationTokenOptions().renewers(java.util.List.of(bob))).delegationToken().get();
            say("owner", () -> token.tokenInfo().ownerAsString());
            say("shown", () -> alice.describeDelegationToken(new DescribeDelegationTokenOptions())
                .delegationTokens().get().equals(java.util.List.of(token)));
            String login = String.format("username=\"%s\" password=\"%s\" tokenauth=\"true\"",
                token.tokenInfo().tokenId(), token.hmacAsBase64String());
            try (Admin program = admin(servers, login)) {
                say("topics", () -> program.listTopics().names().get());
                say("another", () -> program.createDelegationToken().delegationToken().get());
            }
            say("renewed", () -> alice.renewDelegationToken(token.hmac()).expiryTimestamp().get() > 0);
            try (Admin carol = admin(servers, "username=\"carol\" password=\"secret\"")) {
                say("by another", () -> carol.expireDelegationToken(token.hmac()).expiryTimestamp().get());
            }
            say("ended", () -> alice.expireDelegationToken(token.hmac()).expiryTimestamp().get() > 0);
            say("renewed", () -> alice.renewDelegationToken(token.hmac()).expiryTimestamp().get());
            try (Admin program = admin(servers, login)) {
                say("topics", () -> program.listTopics().names().get());
            }
        }
    }
}
