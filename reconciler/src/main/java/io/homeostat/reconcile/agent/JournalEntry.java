package io.homeostat.reconcile.agent;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Ascii;
import io.homeostat.reconcile.command.output.Text;
import java.util.List;

/**
 * A line of a workload's log as the journal takes it. What a plugin of go-plugin logs is JSON, of which the level becomes the priority and
 * the rest is put for people; any other line is taken as it stands.
 *
 * @param priority as of syslog(3): 3 an error, 4 a warning, 6 informational, 7 for debugging
 */
record JournalEntry(int priority, String message) {
    private static final int ERROR = 3;
    private static final int WARNING = 4;
    private static final int INFORMATIONAL = 6;
    private static final int DEBUG = 7;

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String LEVEL = "@level";
    private static final String MESSAGE = "@message";
    private static final String MODULE = "@module";

    static JournalEntry of(String line) {
        if (!line.startsWith("{") || !line.contains("\"" + LEVEL + "\"")) {
            return new JournalEntry(INFORMATIONAL, line);
        }
        try {
            return JSON.readTree(line) instanceof ObjectNode logged
                            && logged.path(LEVEL).isTextual()
                            && logged.path(MESSAGE).isTextual()
                    ? new JournalEntry(priority(logged.path(LEVEL).textValue()), words(logged))
                    : new JournalEntry(INFORMATIONAL, line);
        } catch (JsonProcessingException e) {
            // It only looks like that.
            return new JournalEntry(INFORMATIONAL, line);
        }
    }

    private static int priority(String level) {
        return switch (Ascii.toLowerCase(level)) {
            case "error" -> ERROR;
            case "warn" -> WARNING;
            case "debug", "trace" -> DEBUG;
            default -> INFORMATIONAL;
        };
    }

    /** {@code module: message {"key":"value"}}; the journal has the time itself. A line end within would begin another field. */
    private static String words(ObjectNode logged) {
        JsonNode module = logged.path(MODULE);
        String message = logged.path(MESSAGE).textValue();
        ObjectNode rest = logged.deepCopy();
        rest.remove(List.of(LEVEL, MESSAGE, MODULE, "@timestamp"));
        return Text.oneLine(
                (module.isTextual() ? module.textValue() + ": " : "") + message + (rest.isEmpty() ? "" : " " + rest));
    }
}
