package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;

/** {@code homeostat run} that runs: in this JVM, or as an {@link AgentProcess}. */
class Agent {
    private final RunningCommand command;
    private final UnaryOperator<Result> check;

    /** Whether the test has ended it, or seen it end. */
    private boolean ended;

    /** @param check of what it has said when it has ended */
    Agent(RunningCommand command, UnaryOperator<Result> check) {
        this.command = command;
        this.check = check;
    }

    /** Waits until it enforces what is declared and answers other commands. */
    @CanIgnoreReturnValue
    Agent awaitReady() {
        Awaitility.await().atMost(Patience.LONGEST).until(() -> !command.isRunning() || isEnforcing());
        assertTrue(command.isRunning(), this::said);
        return this;
    }

    boolean is(RunningCommand other) {
        return command.equals(other);
    }

    boolean isRunning() {
        return command.isRunning();
    }

    boolean isEnforcing() {
        return command.isRunning() && isEnforcing(said());
    }

    /** Whether an agent that has said this enforces what is declared. */
    static boolean isEnforcing(String said) {
        return said.contains("enforcing");
    }

    /** All it has said since it was started, its log among it. */
    String said() {
        return command.soFar();
    }

    @CanIgnoreReturnValue
    Agent awaitSaying(String words) {
        Awaitility.await().atMost(Patience.LONGEST).until(this::said, said -> said.contains(words));
        return this;
    }

    /** Fails when it has ended although nobody told it to, nor waited for that. */
    void requireNotEndedByItself() {
        assertTrue(ended || command.isRunning(), () -> "the agent has ended by itself: " + said());
    }

    /** SIGTERM; it has to end by itself. */
    Result terminate() {
        command.terminate();
        return await();
    }

    /** Waits until it ends by itself. */
    Result await() {
        return ended(command.await(Patience.LONGEST));
    }

    /** Checks what an agent has said that the test has ended. */
    final Result ended(Result result) {
        ended = true;
        return check.apply(result);
    }

    /** SIGHUP. */
    void hangUp() {
        command.hangUp();
    }
}
