package io.homeostat.reconcile.agent.ui;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the page is served, as the configuration of the moment has it, and the files in the run directory that tell its user of it, with
 * another token after each login. One thread opens and closes it.
 */
public final class UiEndpoint implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(UiEndpoint.class);
    private static final AgentConfig.Ui OFF = new AgentConfig.Ui("", false, false);

    private final Layout layout;
    private final Ticker ticker;
    private final LocalDisk disk = new LocalDisk();
    private volatile AgentConfig.Ui config = OFF;
    private volatile @Nullable UiServer server;
    private volatile String problem = "";
    private String announced = "";

    public UiEndpoint(Layout layout, Ticker ticker) {
        this.layout = layout;
        this.ticker = ticker;
    }

    /**
     * Serves the page there and nowhere else from now on; sessions are kept as long as nothing changes. An agent without a page is better
     * than none: what can't be done is a {@link #problem}.
     */
    public void serve(AgentConfig.Ui wanted, CommandRunner commands) {
        if (server != null && wanted.equals(config)) {
            return;
        }
        close();
        config = wanted;
        problem = "";
        open(commands);
    }

    /** The log says why, and that it succeeded at last, once. */
    private void open(CommandRunner commands) {
        if (server != null || config.listen().isEmpty()) {
            return;
        }
        String before = problem;
        try {
            server = UiServer.open(config, commands, ticker, UiServer.PATIENCE, this::announceAgain);
            announce();
            problem = "";
            if (!before.isEmpty()) {
                LOG.info("ui.listen: the page is served at {} now", config.listen());
            }
        } catch (IOException e) {
            close();
            problem = "ui.listen: nothing is served at " + config.listen() + ": " + CommandFailure.reason(e);
            if (!problem.equals(before)) {
                LOG.warn("{}; it is tried again, and the agent goes on meanwhile", problem);
            }
        }
    }

    /**
     * Tries again to serve the page where that has failed, and writes anew what tells of it if that is missing or holds no more; what can't be
     * done is tried again the next time.
     */
    public void ensure(CommandRunner commands) {
        open(commands);
        announceAgain();
    }

    private synchronized void announceAgain() {
        UiServer serving = server;
        if (serving == null
                || (serving.url().equals(announced)
                        && Files.exists(layout.uiAddress(), LinkOption.NOFOLLOW_LINKS)
                        && Files.exists(layout.uiEntrance(), LinkOption.NOFOLLOW_LINKS))) {
            return;
        }
        try {
            announce();
        } catch (IOException e) {
            LOG.error("homeostat ui can't tell of the page: {}", CommandFailure.reason(e));
        }
    }

    private synchronized void announce() throws IOException {
        UiServer serving = server;
        if (serving == null) {
            return;
        }
        String url = serving.url();
        // A token has no character that would mean something in HTML.
        write(
                layout.uiEntrance(),
                "<!doctype html><meta charset=utf-8><title>Homeostat</title>"
                        + "<meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0;url="
                        + url + "\">\n");
        write(layout.uiAddress(), url + "\n");
        announced = url;
    }

    private void write(Path file, String text) throws IOException {
        disk.replace(file, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Why the page is not served though it should be; empty when it is, or should not be. */
    public String problem() {
        return problem;
    }

    @Override
    public void close() {
        UiServer before = server;
        withdraw();
        if (before != null) {
            before.close();
        }
    }

    /** Also from whoever logs in just now. */
    private synchronized void withdraw() {
        server = null;
        try {
            Files.deleteIfExists(layout.uiAddress());
            Files.deleteIfExists(layout.uiEntrance());
        } catch (IOException e) {
            LOG.warn("what tells of the page stays behind in {}: {}", layout.runDir(), CommandFailure.reason(e));
        }
    }
}
