package io.homeostat.reconcile.agent.hooks;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.reconcile.command.output.Json;
import java.util.Iterator;

/**
 * What a hook is told, a public interface: one JSON object.
 *
 * @param event its type, such as {@code CRASHED}
 * @param workload its brief form, for variables
 */
record HookMessage(String event, String workload, String json) {
    private static final String FORMAT = "1.0";

    /** The longest line that is told, in characters. */
    private static final int LONGEST_LINE = 4096;

    /** @param machine whose event it is */
    static HookMessage of(StoredEvent stored, String machine) {
        Event event = stored.event();
        WorkloadId id = event.workload();
        // Secrets were masked before it was stored; signed URLs may be anywhere.
        Iterator<String> lines =
                Splitter.on('\n').split(Redaction.text(event.message())).iterator();
        ObjectNode json = Json.object()
                .put("formatVersion", FORMAT)
                .put("id", stored.id())
                .put("time", event.time().toString())
                .put("machine", machine)
                .put("workload", String.valueOf(id))
                .put("revision", event.revision())
                .put("event", event.type().shortName())
                .put("cause", cut(lines.next()));
        ArrayNode log = json.putArray("log");
        lines.forEachRemaining(line -> log.add(cut(line)));
        return new HookMessage(event.type().shortName(), id == null ? "" : id.brief(), json + "\n");
    }

    private static String cut(String line) {
        return line.length() <= LONGEST_LINE ? line : line.substring(0, LONGEST_LINE) + "...";
    }
}
