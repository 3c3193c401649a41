package io.homeostat.reconcile.agent.telemetry;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.google.common.base.Splitter;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.reconcile.loop.PassId.PassMarks;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How an event of the log looks:
 *
 * <pre>
 * 2026-11-20T12:00:00Z INFO [plugin/ops-agent #42 exit] launch done in 12 ms
 * 2026-11-20T12:00:00Z WARN controlplane: what isn't a pass's, with the part of the agent that it comes from
 *   | java.lang.IllegalStateException: an exception's lines, marked so that nobody takes them for the log's own
 * {"time":"2026-11-20T12:00:00Z","level":"INFO","logger":"...","message":"...","workload":"plugin/ops-agent","reconciliation":42,"trigger":"exit","thread":"..."}
 * </pre>
 */
final class LogLines {
    /** ASCII only: no reader has to know which characters a terminal would obey, and any of them gets the text back. */
    private static final JsonFactory JSON =
            JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    static final int LONGEST = 16 << 10;

    private LogLines() {}

    /** One event; ends with a line feed. */
    static String of(ILoggingEvent event, AgentConfig.Log.Format format) {
        return switch (format) {
            case TEXT -> text(event);
            case JSON -> json(event);
        };
    }

    private static String text(ILoggingEvent event) {
        Map<String, String> marks = event.getMDCPropertyMap();
        StringBuilder line = new StringBuilder(160)
                .append(time(event))
                .append(' ')
                .append(event.getLevel())
                .append(' ');
        if (marks.containsKey(PassMarks.WORKLOAD)) {
            line.append('[')
                    .append(marks.get(PassMarks.WORKLOAD))
                    .append(" #")
                    .append(marks.get(PassMarks.RECONCILIATION))
                    .append(' ')
                    .append(marks.get(PassMarks.TRIGGER))
                    .append("] ");
        } else {
            line.append(area(event.getLoggerName())).append(": ");
        }
        line.append(escaped(message(event))).append('\n');
        String trace = trace(event);
        if (trace != null) {
            for (String part : Splitter.on('\n').split(trace)) {
                line.append("  | ").append(escaped(part.replace("\t", "  "))).append('\n');
            }
        }
        return line.toString();
    }

    /** The package of a class says to an operator what it is about, its name does not. */
    private static String area(String logger) {
        String area = logger.contains(".") ? logger.substring(0, logger.lastIndexOf('.')) : logger;
        return area.substring(area.lastIndexOf('.') + 1);
    }

    private static String json(ILoggingEvent event) {
        Map<String, String> marks = event.getMDCPropertyMap();
        StringWriter out = new StringWriter(256);
        try (JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeStringField("time", time(event));
            json.writeStringField("level", event.getLevel().toString());
            json.writeStringField("logger", event.getLoggerName());
            json.writeStringField("message", message(event));
            String workload = marks.get(PassMarks.WORKLOAD);
            if (workload != null) {
                json.writeStringField("workload", workload);
                json.writeFieldName("reconciliation");
                json.writeNumber(String.valueOf(marks.get(PassMarks.RECONCILIATION)));
                json.writeStringField("trigger", marks.get(PassMarks.TRIGGER));
            }
            json.writeStringField("thread", event.getThreadName());
            String trace = trace(event);
            if (trace != null) {
                json.writeStringField("exception", trace);
            }
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory can't fail", e);
        }
        return out.append('\n').toString();
    }

    private static String time(ILoggingEvent event) {
        return Instant.ofEpochMilli(event.getTimeStamp()).toString();
    }

    private static String message(ILoggingEvent event) {
        return bounded(String.valueOf(event.getFormattedMessage()));
    }

    private static @Nullable String trace(ILoggingEvent event) {
        return event.getThrowableProxy() == null
                ? null
                : bounded(ThrowableProxyUtil.asString(event.getThrowableProxy()).stripTrailing());
    }

    /** Without secrets and of bounded length. */
    static String bounded(String text) {
        String shown = Redaction.text(text.length() > 2 * LONGEST ? text.substring(0, 2 * LONGEST) : text);
        return shown.length() <= LONGEST
                ? shown
                : shown.substring(0, LONGEST) + "... (" + (text.length() - LONGEST) + " characters more)";
    }

    /** With everything that isn't visible written as in Java's source text. */
    public static String escaped(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\n' -> line.append("\\n");
                case '\r' -> line.append("\\r");
                case '\t' -> line.append("\\t");
                default -> {
                    if (VisibleText.isVisible(c)) {
                        line.appendCodePoint(c);
                    } else {
                        line.append(String.format("\\u%04x", c));
                    }
                }
            }
        });
        return line.toString();
    }
}
