package io.homeostat.reconcile.agent.telemetry;

import org.jspecify.annotations.Nullable;

/** Where {@code /metrics} and {@code /healthz} are served, as the configuration of the moment has it. For one thread. */
public final class MetricsEndpoint implements AutoCloseable {
    private final Telemetry telemetry;
    private String listen = "";
    private @Nullable MetricsServer server;

    public MetricsEndpoint(Telemetry telemetry) {
        this.telemetry = telemetry;
    }

    /**
     * Listens there and nowhere else from now on; open connections are kept if the address stays the same. If that fails, the log says
     * why and nothing listens until the next call.
     */
    public void listen(String wanted) {
        if (server != null && wanted.equals(listen)) {
            return;
        }
        close();
        listen = wanted;
        server = MetricsServer.start(wanted, telemetry.metrics()::scrape, telemetry.watch()::problem)
                .orElse(null);
    }

    /** Whether what was wanted last could be done; that is so, too, when nothing was. */
    public boolean isAsWanted() {
        return server != null || listen.isEmpty();
    }

    @Override
    public void close() {
        if (server != null) {
            server.close();
            server = null;
        }
    }
}
