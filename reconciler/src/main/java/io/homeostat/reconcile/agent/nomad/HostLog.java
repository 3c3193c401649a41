package io.homeostat.reconcile.agent.nomad;

import io.homeostat.reconcile.command.output.Json;
import java.io.PrintStream;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * Log lines for a go-plugin host: one JSON object a line on standard error, as hclog writes them. A PrintStream swallows that nobody reads
 * any more, and the JVM ignores SIGPIPE: a driver outlives its host.
 */
final class HostLog {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'").withZone(ZoneOffset.UTC);

    private final PrintStream out;
    private final InstantSource clock;

    HostLog(PrintStream out, InstantSource clock) {
        this.out = out;
        this.clock = clock;
    }

    void debug(String message) {
        line("debug", message);
    }

    void info(String message) {
        line("info", message);
    }

    void warn(String message) {
        line("warn", message);
    }

    private void line(String level, String message) {
        String line = Json.object()
                .put("@level", level)
                .put("@message", message)
                .put("@module", PluginService.NAME)
                .put("@timestamp", TIME.format(clock.instant()))
                .toString();
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }
}
