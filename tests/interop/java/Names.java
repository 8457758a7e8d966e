import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** For each line, "name HEX" or "rule HEX HEX", prints in hex how Java writes the Name in DER, or what rules make of a name. */
public class Names {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] bytes = HexFormat.of().parseHex(words[1]);
            String said;
            try {
                if (words[0].equals("name")) {
                    said = new X500Principal(bytes).getName();
                } else {
                    String name = new String(HexFormat.of().parseHex(words[2]), StandardCharsets.UTF_8);
                    said = SslPrincipalMapper.fromRules(new String(bytes, StandardCharsets.UTF_8)).getName(name);
                }
                System.out.println(HexFormat.of().formatHex(said.getBytes(StandardCharsets.UTF_8)));
            } catch (Exception error) {
                System.out.println("- " + error.getClass().getSimpleName());
            }
        }
    }
}
