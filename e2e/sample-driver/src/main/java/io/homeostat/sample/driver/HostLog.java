package io.homeostat.sample.driver;

import java.io.PrintStream;
import java.time.Clock;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.Map;

/** Log lines for the host: one JSON object a line on standard error, in the way of hclog. */
final class HostLog {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'").withZone(ZoneOffset.UTC);

    private final PrintStream out;
    private final Clock clock;

    HostLog(PrintStream out, Clock clock) {
        this.out = out;
        this.clock = clock;
    }

    void debug(String message, String... pairs) {
        line("debug", message, pairs);
    }

    void info(String message, String... pairs) {
        line("info", message, pairs);
    }

    void warn(String message, String... pairs) {
        line("warn", message, pairs);
    }

    private void line(String level, String message, String... pairs) {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("@level", level);
        fields.put("@message", message);
        fields.put("@module", "runner");
        fields.put("@timestamp", TIME.format(clock.instant()));
        for (int i = 0; i + 1 < pairs.length; i += 2) {
            fields.put(pairs[i], pairs[i + 1]);
        }
        StringBuilder json = new StringBuilder("{");
        fields.forEach((name, value) -> {
            json.append(json.length() > 1 ? "," : "");
            quote(name, json);
            json.append(':');
            quote(value, json);
        });
        json.append("}\n");
        // A PrintStream swallows that nobody reads any more; a driver must outlive its host's death.
        synchronized (out) {
            out.print(json);
            out.flush();
        }
    }

    /** https://www.rfc-editor.org/rfc/rfc8259, section 7. */
    private static void quote(String text, StringBuilder json) {
        json.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        json.append('"');
    }
}
