package io.homeostat.reconcile.agent.nomad;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.proto.nomad.driver.ExitResult;
import java.time.Instant;

/**
 * How a task has ended, as Nomad wants to know it.
 *
 * @param error why that is not known; empty when it is
 */
record Ending(ExitResult result, String error, Instant at) {
    private static final int BY_SIGNAL = 128;
    private static final int KILL = 9;

    /** Of an exit as the agent tells it. A signal makes an exit code, too, as drivers of Nomad have it. */
    static Ending of(JsonNode exit) {
        boolean outOfMemory = exit.path("reason").asText().equals("OOM_KILLED");
        int signal = exit.path("signal").asInt();
        // Of a plugin that was told to stop nothing else is known.
        boolean stopped = exit.path("reason").asText().equals("STOPPED");
        boolean isKnown = exit.hasNonNull("code") || signal > 0 || outOfMemory || stopped;
        if (outOfMemory && signal == 0 && !exit.hasNonNull("code")) {
            signal = KILL;
        }
        return new Ending(
                ExitResult.newBuilder()
                        .setExitCode(
                                exit.hasNonNull("code")
                                        ? exit.path("code").asInt()
                                        : signal > 0 ? BY_SIGNAL + signal : stopped ? 0 : -1)
                        .setSignal(signal)
                        .setOomKilled(outOfMemory)
                        .build(),
                isKnown ? "" : "it ended while nobody was looking; its exit status is not known",
                Instant.parse(exit.path("at").asText()));
    }

    /** Of which nothing is known but why. */
    static Ending unknown(String error, Instant at) {
        return new Ending(ExitResult.newBuilder().setExitCode(-1).build(), error, at);
    }

    String words() {
        return error.isEmpty()
                ? "exit code " + result.getExitCode()
                        + (result.getSignal() > 0 ? ", signal " + result.getSignal() : "")
                        + (result.getOomKilled() ? ", out of memory" : "")
                : error;
    }
}
