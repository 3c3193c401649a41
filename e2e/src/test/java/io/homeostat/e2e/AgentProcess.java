package io.homeostat.e2e;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.function.UnaryOperator;

/** {@code homeostat run} as a process of its own, for tests that kill it, or look at what only a process has. */
final class AgentProcess extends Agent {
    private final Command command;

    /** @param check of what it has said when it has ended */
    AgentProcess(Command command, UnaryOperator<Result> check) {
        super(command, check);
        this.command = command;
    }

    @CanIgnoreReturnValue
    @Override
    AgentProcess awaitReady() {
        super.awaitReady();
        return this;
    }

    long pid() {
        return command.pid();
    }

    /** kill -9, which is what it has to survive. */
    @CanIgnoreReturnValue
    Result kill() {
        return ended(command.kill());
    }
}
