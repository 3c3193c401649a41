package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a plugin was given in confidence is shown nowhere, also when the plugin quotes it. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class PluginSecretsTest {
    private static final String SECRET = "topsecretvalue";
    private static final String CONFIG = "config: {string: \"api_token=" + SECRET + "\"}";

    @TempDir
    Path directory;

    private Shell shell;
    private FakePlugin plugin;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
        plugin = new FakePlugin(shell, "a");
    }

    @AfterEach
    void leaveNothingBehind() throws Exception {
        try (FakePlugin _ = plugin) {
            shell.close();
        }
    }

    @Test
    void whyAPluginDidNotStartIsToldWithoutItsSecrets() throws IOException {
        plugin.starting = request -> Status.INTERNAL.withDescription("start refused: " + request.getStringConfig());

        Result applied = apply(CONFIG + "\n  start: {attempts: 1}");

        assertEquals(1, applied.status(), applied.out());
        assertTrue(applied.out().contains("start refused: (masked)"), applied.out());
        assertTrue(shell.run("events").out().contains("start refused: (masked)"));
        assertIsShownNowhere(applied);
    }

    @Test
    void whyAPluginDidNotTakeAConfigurationIsToldWithoutItsFormerOneEither() throws IOException {
        apply(CONFIG);
        plugin.refusal = Status.INTERNAL.withDescription("can't change " + SECRET + " to another-secret");

        Result applied = apply("config: {string: \"api_token=another-secret\"}");

        assertEquals(1, applied.status(), applied.out());
        assertTrue(applied.out().contains("can't change (masked) to (masked)"), applied.out());
        assertIsShownNowhere(applied);
    }

    @Test
    void aConfigurationThatWasTakenOutIsMaskedInWhatThePluginStillSaysOfIt() throws IOException {
        plugin.status = request -> io.homeostat.proto.plugin.Status.newBuilder()
                .addResults("it goes on with " + SECRET)
                .build();
        apply(CONFIG);

        Result applied = apply("");

        assertTrue(applied.out().contains("plugin/a  configured"), applied.out());
        Result status = shell.run("status", "plugin/a");
        assertTrue(status.out().contains("it goes on with (masked)"), status.out());
        assertEquals(
                "plugin/a answered 0: it goes on with (masked)\n",
                shell.run("watch", "plugin/a").out());
        assertIsShownNowhere(applied);
    }

    @Test
    void whyAPluginDidNotTakeAVmEventIsToldWithoutItsSecrets() throws IOException {
        apply(CONFIG);
        plugin.refusal = Status.INTERNAL.withDescription("not with " + SECRET);

        Result told = shell.run("vm-event", "startup");

        assertTrue(told.out().contains("not with (masked)"), told.out());
        assertIsShownNowhere(told);
    }

    private Result apply(String config) throws IOException {
        shell.write("a.yaml", plugin.document().replace("config: {string: \"its own\"}", config));
        return shell.run("apply", "-f", directory + "/a.yaml");
    }

    private void assertIsShownNowhere(Result told) {
        assertFalse((told.out() + told.err()).contains(SECRET), told::toString);
        for (String command : List.of("plan", "status", "events")) {
            for (String format : List.of("text", "json")) {
                Result shown = shell.run(command, "-o", format);
                assertFalse((shown.out() + shown.err()).contains(SECRET), shown::toString);
            }
        }
        Result described = shell.run("describe", "plugin/a");
        assertFalse(described.out().contains(SECRET), described::toString);
    }
}
