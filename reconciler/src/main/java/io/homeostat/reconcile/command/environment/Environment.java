package io.homeostat.reconcile.command.environment;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.platform.MetadataClient;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;

/**
 * Everything that a command has from outside, so that a test can replace it.
 *
 * @param uid number of the user we act as
 * @param interrupts SIGINT and SIGTERM
 */
public record Environment(
        ImmutableMap<String, String> variables,
        Path workingDirectory,
        long uid,
        InputStream in,
        PrintStream out,
        PrintStream err,
        boolean outIsTerminal,
        boolean errIsTerminal,
        Clock clock,
        Ticker ticker,
        DocumentFormat documents,
        Interrupts interrupts,
        Terminal terminal) {

    /** Of a command that is typed at no terminal. */
    public Environment(
            ImmutableMap<String, String> variables,
            Path workingDirectory,
            long uid,
            InputStream in,
            PrintStream out,
            PrintStream err,
            boolean outIsTerminal,
            boolean errIsTerminal,
            Clock clock,
            Ticker ticker,
            DocumentFormat documents,
            Interrupts interrupts) {
        this(
                variables,
                workingDirectory,
                uid,
                in,
                out,
                err,
                outIsTerminal,
                errIsTerminal,
                clock,
                ticker,
                documents,
                interrupts,
                Terminal.none());
    }

    public String variable(String name) {
        return variables.getOrDefault(name, "");
    }

    /** Where systemd's journal listens; HOMEOSTAT_JOURNAL_SOCKET names another place. */
    public String journalSocket() {
        String other = variable("HOMEOSTAT_JOURNAL_SOCKET");
        return other.isEmpty() ? "/run/systemd/journal/socket" : other;
    }

    /** The cloud's, which is asked nothing before somebody wants to know something. */
    public MetadataClient metadata() {
        return new MetadataClient(MetadataClient.host(variables));
    }

    public boolean outIsDrawable() {
        return outIsTerminal && !variable("TERM").equals("dumb");
    }

    public boolean errIsDrawable() {
        return errIsTerminal && !variable("TERM").equals("dumb");
    }

    public boolean isRoot() {
        return uid == 0;
    }

    /** SIGINT and SIGTERM, as an interruption of the thread that works. */
    public interface Interrupts {
        /** How long the process outlives a signal to put things in order. */
        Duration PATIENCE = Duration.ofSeconds(15);

        /** From now until {@link Guard#close}, a signal interrupts the calling thread, and the process lives on until it has closed. */
        Guard guard();

        /**
         * For a daemon, which ends its process itself: until {@link Guard#close}, SIGTERM, SIGINT and SIGIO only interrupt the calling
         * thread.
         *
         * @param onHangUp called for each SIGHUP, on a thread of the JVM's
         */
        Guard daemon(Runnable onHangUp);

        /**
         * Leases may be taken from now on; false when they may not, because SIGIO would end this process.
         *
         * @param onAwaited called for each SIGIO: somebody waits to write a file on which this process has a lease
         */
        default boolean ofLeases(Runnable onAwaited) {
            return false;
        }

        /** From now on SIGINT does nothing. */
        default void ignoreInterrupt() {}

        interface Guard extends AutoCloseable {
            @Override
            void close();
        }

        static Interrupts none() {
            return new Interrupts() {
                @Override
                public Guard guard() {
                    return () -> {};
                }

                @Override
                public Guard daemon(Runnable onHangUp) {
                    return () -> {};
                }
            };
        }
    }
}
