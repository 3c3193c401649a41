package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator.ExecutionStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a command logs beside what it says. */
class StandardErrorLogTest {
    private final LoggerContext context = new LoggerContext();

    @Test
    void warningsAreLogged() {
        configure();
        assertEquals(Level.WARN, context.getLogger("io.homeostat.Anything").getEffectiveLevel());
    }

    /** They log each failed try, and the command says in its own words what came of it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "io.etcd.jetcd.impl.KVImpl",
                "io.grpc.internal.ManagedChannelImpl",
                "io.netty.channel.DefaultChannelPipeline"
            })
    void warningsOfLibrariesAreNot(String logger) {
        configure();
        assertEquals(Level.ERROR, context.getLogger(logger).getEffectiveLevel());
    }

    private void configure() {
        assertEquals(ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY, new StandardErrorLog().configure(context));
    }
}
