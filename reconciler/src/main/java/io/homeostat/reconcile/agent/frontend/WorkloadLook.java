package io.homeostat.reconcile.agent.frontend;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.history.Exit;
import java.nio.file.Path;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How an agent says that a workload is, see {@code FrontEndCommand}.
 *
 * @param known whether it is declared, or something of it is left
 * @param over whether it has no process and will have none
 * @param process null when none is known
 * @param startedAt of that process; null without one
 * @param end of its last process; null when none has ended
 * @param fatal whether it can't help to try again what has failed
 * @param problem in words; empty when there is none
 * @param log the file that it writes to
 */
public record WorkloadLook(
        WorkloadId workload,
        boolean known,
        boolean over,
        @Nullable ProcessIdentity process,
        @Nullable Instant startedAt,
        @Nullable End end,
        boolean fatal,
        String problem,
        int restarts,
        Path log) {

    /**
     * How a process has ended.
     *
     * @param code its exit status; null when that is not known, or it has none
     * @param signal 0 when it was none
     * @param reason a name of {@code Exit.Reason}
     */
    public record End(@Nullable Integer code, int signal, String reason, Instant at) {
        private static End of(JsonNode json) {
            return new End(
                    json.hasNonNull("code") ? json.path("code").asInt() : null,
                    json.path("signal").asInt(),
                    json.path("reason").asText(),
                    Instant.parse(json.path("at").asText()));
        }

        /** Whether the kernel has ended it for want of memory. */
        public boolean outOfMemory() {
            return reason.equals(Exit.Reason.OOM_KILLED.name());
        }

        /** Whether it was told to end, and what it said of that was not asked for. */
        public boolean stopped() {
            return reason.equals(Exit.Reason.STOPPED.name());
        }
    }

    static WorkloadLook of(JsonNode json) {
        JsonNode exit = json.path("exit");
        return new WorkloadLook(
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
                exit.isObject() ? End.of(exit) : null,
                json.path("fatal").asBoolean(),
                json.path("problem").asText(),
                json.path("restarts").asInt(),
                Path.of(json.path("log").asText()));
    }
}
