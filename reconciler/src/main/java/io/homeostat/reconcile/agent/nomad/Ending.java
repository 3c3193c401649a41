package io.homeostat.reconcile.agent.nomad;

import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.agent.frontend.WorkloadLook.End;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How a task has ended, as Nomad wants to know it.
 *
 * @param error why that is not known; empty when it is
 */
record Ending(ExitResult result, String error, Instant at) {
    private static final int BY_SIGNAL = 128;
    private static final int KILL = 9;

    /** Of an exit as the agent tells it. A signal makes an exit code, too, as drivers of Nomad have it. */
    static Ending of(End end) {
        int signal = end.outOfMemory() && end.signal() == 0 && end.code() == null ? KILL : end.signal();
        // Of a plugin that was told to stop nothing else is known.
        boolean isKnown = end.code() != null || signal > 0 || end.stopped();
        int otherwise = signal > 0 ? BY_SIGNAL + signal : end.stopped() ? 0 : -1;
        return new Ending(
                ExitResult.newBuilder()
                        .setExitCode(end.code() != null ? end.code() : otherwise)
                        .setSignal(signal)
                        .setOomKilled(end.outOfMemory())
                        .build(),
                isKnown ? "" : "it ended while nobody was looking; its exit status is not known",
                end.at());
    }

    /** Of a look; null as long as no process has ended. */
    static @Nullable Ending of(WorkloadLook look) {
        return look.end() == null ? null : of(look.end());
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
