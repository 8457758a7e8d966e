import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools in one process. Each line of stdin is a class and its arguments, with tabs between
 * them; what the tool prints follows, and a line with its exit status.
 */
public class Tools {
    static Integer status;

    /** Notes the first exit of a tool: some catch what is thrown here, and print it. */
    static void exit(int code, String message) {
        if (status == null) {
            status = code;
            PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
            System.setOut(nowhere);
            System.setErr(nowhere);
        }
        throw new IllegalStateException();
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        Exit.setExitProcedure(Tools::exit);
        Exit.setHaltProcedure(Tools::exit);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            String[] rest = java.util.Arrays.copyOfRange(words, 1, words.length);
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream to = new PrintStream(printed, true, "UTF-8");
            System.setOut(to);
            System.setErr(to);
            status = null;
            int code = run(words[0], rest, to);
            out.write(printed.toByteArray());
            out.println("\nEXIT " + code);
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static int run(String name, String[] arguments, PrintStream to) throws Exception {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return status == null ? 0 : status;
        } catch (InvocationTargetException thrown) {
            if (status == null) {
                to.println(thrown.getCause());
                return 1;
            }
            return status;
        }
    }
}
