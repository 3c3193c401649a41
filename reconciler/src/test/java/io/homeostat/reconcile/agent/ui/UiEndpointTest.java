package io.homeostat.reconcile.agent.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UiEndpointTest {
    private static final AgentConfig.Ui ON = new AgentConfig.Ui("127.0.0.1:0", false, false);
    private static final AgentConfig.Ui OFF = new AgentConfig.Ui("", false, false);

    @TempDir
    private Path directory;

    private Layout layout() {
        return new Layout(directory, directory, "test");
    }

    private UiEndpoint endpoint() {
        return new UiEndpoint(layout(), Ticker.systemTicker());
    }

    private static final CommandRunner NOTHING = (request, out, err) -> 0;

    private static void serve(UiEndpoint endpoint, AgentConfig.Ui config) {
        endpoint.serve(config, NOTHING);
    }

    private String url() throws IOException {
        return Files.readString(layout().uiAddress()).strip();
    }

    @Test
    void whatHasTheTokenIsForTheAgentsUserOnlyAndGoneWithThePage() throws IOException {
        try (UiEndpoint endpoint = endpoint()) {
            serve(endpoint, ON);

            assertTrue(url().matches("http://127\\.0\\.0\\.1:[1-9][0-9]*/#token=[A-Za-z0-9_-]{43}"), url());
            assertTrue(Files.readString(layout().uiEntrance()).contains(url()));
            for (Path file : List.of(layout().uiAddress(), layout().uiEntrance())) {
                assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
            }

            serve(endpoint, OFF);
            assertFalse(Files.exists(layout().uiAddress()));
            assertFalse(Files.exists(layout().uiEntrance()));
            assertEquals("", endpoint.problem());
        }
    }

    @Test
    void withoutItNothingListensAndWhatAKilledAgentLeftBehindIsRemoved() throws IOException {
        Files.writeString(layout().uiAddress(), "of another");
        try (UiEndpoint endpoint = endpoint()) {
            serve(endpoint, OFF);
            assertFalse(Files.exists(layout().uiAddress()));
        }
    }

    @Test
    void theSameConfigurationKeepsSessionsAndAnotherEndsThem() throws IOException {
        try (UiEndpoint endpoint = endpoint()) {
            serve(endpoint, ON);
            String before = url();
            serve(endpoint, ON);
            assertEquals(before, url());
            serve(endpoint, new AgentConfig.Ui(ON.listen(), true, false));
            assertNotEquals(before, url());
        }
    }

    @Test
    void whatIsDeletedIsWrittenAnew() throws IOException {
        try (UiEndpoint endpoint = endpoint()) {
            serve(endpoint, ON);
            String before = url();
            Files.delete(layout().uiAddress());
            endpoint.ensure(NOTHING);
            assertEquals(before, url());
        }
    }

    @Test
    void whoLogsInFindsTheNextTokenWrittenDown() throws IOException, InterruptedException {
        try (UiEndpoint endpoint = endpoint();
                HttpClient client = HttpClient.newHttpClient()) {
            serve(endpoint, ON);
            String before = url();
            String page = before.substring(0, before.indexOf("/#"));

            HttpResponse<String> answer = client.send(
                    HttpRequest.newBuilder(URI.create(page + "/login"))
                            .header("Origin", page)
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString(
                                    "{\"token\":\"" + before.substring(before.indexOf('=') + 1) + "\"}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());

            assertEquals(200, answer.statusCode(), answer.body());
            assertNotEquals(before, url());
            assertTrue(url().startsWith(page + "/#token="), url());
            assertTrue(Files.readString(layout().uiEntrance()).contains(url()));
        }
    }

    @Test
    void aPortThatIsTakenIsAProblemUntilItIsFreeAndNothingTellsOfAPage() throws IOException {
        try (UiEndpoint endpoint = endpoint()) {
            try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                String listen = "127.0.0.1:" + taken.getLocalPort();
                serve(endpoint, new AgentConfig.Ui(listen, false, false));

                assertTrue(
                        endpoint.problem().startsWith("ui.listen: nothing is served at " + listen + ": "),
                        endpoint::problem);
                assertFalse(Files.exists(layout().uiAddress()));
            }
            endpoint.ensure(NOTHING);
            assertEquals("", endpoint.problem());
            assertTrue(Files.exists(layout().uiAddress()));
        }
    }

    @Test
    void aRunDirectoryThatCannotBeWrittenToIsAProblemToo() throws IOException {
        Layout nowhere = new Layout(directory, directory.resolve("none"), "test");
        try (UiEndpoint endpoint = new UiEndpoint(nowhere, Ticker.systemTicker())) {
            serve(endpoint, ON);
            assertTrue(endpoint.problem().startsWith("ui.listen: nothing "), endpoint.problem());
        }
    }
}
