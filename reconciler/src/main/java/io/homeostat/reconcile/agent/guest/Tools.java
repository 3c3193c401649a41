package io.homeostat.reconcile.agent.guest;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.observe.process.CommandOutput;
import io.homeostat.reconcile.agent.frontend.BoundedCommand;
import io.homeostat.reconcile.agent.frontend.ProcessStarter;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.function.UnaryOperator;

/** Commands of this machine, without a shell. */
final class Tools {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final ProcessStarter starter;
    private final Ticker ticker;

    Tools(ProcessStarter starter, Ticker ticker) {
        this.starter = starter;
        this.ticker = ticker;
    }

    /**
     * Runs a command and returns its standard output.
     *
     * @throws IOException when it can't be started, fails, or has not ended in time, with what it says
     */
    String run(String... command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).directory(new File("/"));
        return switch (BoundedCommand.run(starter, builder, TIMEOUT, ticker, () -> false)) {
            case BoundedCommand.Ended ended
            when ended.exitStatus() == 0 -> ended.stdout().toStringUtf8();
            case BoundedCommand.Ended ended ->
                throw new IOException(command[0] + ": "
                        + CommandOutput.lastLines(ended.stderr().toByteArray(), UnaryOperator.identity()));
            default ->
                throw new IOException(
                        command[0] + " has not ended after " + TIMEOUT.toSeconds() + " s, and was killed");
        };
    }
}
