package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;

/** {@code homeostat run} that runs. */
final class Agent {
    private final Command command;
    private final UnaryOperator<Result> check;

    /** Whether the test has ended it, or seen it end. */
    private boolean ended;

    /** @param check of what it has said when it has ended */
    Agent(Command command, UnaryOperator<Result> check) {
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

    long pid() {
        return command.pid();
    }

    boolean isRunning() {
        return command.isRunning();
    }

    boolean isEnforcing() {
        return command.isRunning() && said().contains("enforcing what is declared");
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

    /** kill -9, which is what it has to survive. */
    @CanIgnoreReturnValue
    Result kill() {
        ended = true;
        return check.apply(command.kill());
    }

    /** SIGTERM; it has to end by itself. */
    Result terminate() {
        ended = true;
        command.terminate();
        return check.apply(command.await(Patience.LONGEST));
    }

    /** Waits until it ends by itself. */
    Result await() {
        ended = true;
        return check.apply(command.await(Patience.LONGEST));
    }

    /** SIGHUP. */
    void hangUp() {
        Processes.signal("HUP", command.pid());
    }
}
