package io.homeostat.reconcile.agent.nomad;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import java.nio.file.Path;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How an agent says that a task is, see {@code NomadDriverCommand}.
 *
 * @param known whether it is declared, or something of it is left
 * @param over whether it has no process and will have none
 * @param process null when none is known
 * @param startedAt of that process; null without one
 * @param ending of its last process; null when none has ended
 * @param fatal whether it can't help to try again what has failed
 * @param problem in words; empty when there is none
 * @param log the file that it writes to
 */
record TaskLook(
        WorkloadId workload,
        boolean known,
        boolean over,
        @Nullable ProcessIdentity process,
        @Nullable Instant startedAt,
        @Nullable Ending ending,
        boolean fatal,
        String problem,
        int restarts,
        Path log) {

    static TaskLook of(JsonNode json) {
        JsonNode exit = json.path("exit");
        return new TaskLook(
                WorkloadId.parse(json.path("workload").asText()).orElseThrow(),
                json.path("known").asBoolean(),
                json.path("over").asBoolean(),
                json.path("running").asBoolean()
                        ? new ProcessIdentity(
                                json.path("pid").asLong(),
                                json.path("startTicks").asLong(),
                                json.path("bootId").asText())
                        : null,
                json.hasNonNull("startedAt")
                        ? Instant.parse(json.path("startedAt").asText())
                        : null,
                exit.isObject() ? Ending.of(exit) : null,
                json.path("fatal").asBoolean(),
                json.path("problem").asText(),
                json.path("restarts").asInt(),
                Path.of(json.path("log").asText()));
    }
}
