package io.homeostat.reconcile.command;

import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import java.time.Instant;
import java.util.Optional;

/**
 * What somebody asks of a state directory. The same object runs here or is sent to the agent that runs there, which makes an equal one of
 * the request.
 */
public interface Command {
    /**
     * Runs it and returns an {@link ExitStatus}.
     *
     * @throws CommandFailure when it can't be done
     * @throws UsageException when it makes no sense
     */
    int run(Workspace workspace) throws InterruptedException;

    /** Puts it into a request to an agent. */
    void write(CommandRequest.Builder request);

    /** Whether it only looks, so that whoever can read the state directory can do it as well as the agent. */
    default boolean onlyLooks() {
        return true;
    }

    /** Whether what is configured decides what it does: programs may be launched by it, or because of it later. */
    default boolean needsConfiguration() {
        return false;
    }

    /** Whether it is done where it was typed though an agent runs: it reads files only, and has to outlive that agent. */
    default boolean needsNoAgent() {
        return false;
    }

    /** Whether it never ends by itself. */
    default boolean goesOn() {
        return false;
    }

    /** What it reads while it runs, of what is typed where it was typed itself; empty when that is nothing. */
    default Optional<Reading> reading() {
        return Optional.empty();
    }

    /**
     * What a command reads.
     *
     * @param input whether it reads standard input
     * @param terminal whether it wants to know how large the terminal is, and gets every byte as it is typed
     */
    record Reading(boolean input, boolean terminal) {}

    /** What one that never ends by itself comes to where it was broken off: with what happens from then on. */
    default Command from(Instant now) {
        return this;
    }
}
