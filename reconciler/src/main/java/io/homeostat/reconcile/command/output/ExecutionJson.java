package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.core.JsonGenerator;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.reconcile.status.LastRun;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/** How a one-shot fares, for programs; a part of {@link StatusJson}. */
final class ExecutionJson {
    private static final double MILLIS_A_SECOND = 1000;

    private ExecutionJson() {}

    static void write(LastRun execution, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("execution");
        lastRun(execution.run(), json);
        time("nextDue", execution.nextDue(), json);
        json.writeEndObject();
    }

    private static void lastRun(@Nullable OneShotRun run, JsonGenerator json) throws IOException {
        if (run == null) {
            json.writeNullField("lastRun");
            return;
        }
        json.writeObjectFieldStart("lastRun");
        json.writeStringField("result", run.result().name());
        time("startedAt", run.startedAt(), json);
        time("endedAt", run.endedAt(), json);
        Duration took = run.duration();
        if (took == null) {
            json.writeNullField("durationSeconds");
        } else {
            json.writeNumberField("durationSeconds", took.toMillis() / MILLIS_A_SECOND);
        }
        StatusJson.exit("exit", run.exit(), json);
        json.writeStringField("error", run.error());
        json.writeEndObject();
    }

    private static void time(String field, @Nullable Instant time, JsonGenerator json) throws IOException {
        StatusJson.text(
                field, time == null ? null : time.truncatedTo(ChronoUnit.MILLIS).toString(), json);
    }
}
