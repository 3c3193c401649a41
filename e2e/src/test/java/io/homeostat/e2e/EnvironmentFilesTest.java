package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Secrets in files reach the program, and nothing else. */
final class EnvironmentFilesTest {
    private static final String SECRET = "tr0ub4dor-and-3";
    private static final String ROTATED = "correct-h0rse-battery";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private Document web(Path variables, Path token) {
        return Document.script("web", "exec sleep 1000")
                .with("env", Map.of("TOKEN", Map.of("file", token.toString()), "PLAIN", "1"))
                .with("envFiles", List.of(variables.toString()));
    }

    private List<String> environment() {
        try {
            String environment = Files.readString(
                    Path.of("/proc/" + homeostat.pid("process/web") + "/environ"), StandardCharsets.ISO_8859_1);
            return Stream.of(environment.split("\0", -1))
                    .filter(variable -> variable.matches("(TOKEN|PLAIN|USER_NAME)=.*"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aRunningAgentTakesARotatedSecretAtOnceAndTellsItToNobody() throws IOException {
        homeostat.keepsSecret(SECRET);
        homeostat.keepsSecret(ROTATED);
        Path variables = homeostat.file("web.env", "# of the web server\nUSER_NAME='the web'\nTOKEN=never\n");
        Path token = homeostat.file("token", SECRET + "\n");
        homeostat.declare("web.yaml", web(variables, token));
        homeostat.agent();
        homeostat.awaitRunning("process/web");
        assertEquals(List.of("PLAIN=1", "TOKEN=" + SECRET, "USER_NAME=the web"), environment());
        long before = homeostat.pid("process/web");

        Files.writeString(token, ROTATED + "\n");

        // By the hint that the file has changed: the resync is an hour away.
        homeostat.awaitAnother("process/web", before);
        homeostat.awaitRunning("process/web");
        assertEquals(List.of("PLAIN=1", "TOKEN=" + ROTATED, "USER_NAME=the web"), environment());
        homeostat.run("describe", "process/web").exits(0).says(token.toString());
        homeostat.run("get", "process/web", "-o", "yaml").exits(0).says(token.toString());
        homeostat.run("events").exits(0);
        homeostat.run("plan").exits(0).says("1 unchanged");
        homeostat.run("diagnostics", homeostat.directory().resolve("d.tar.gz").toString());
        assertNowhere(SECRET);
        assertNowhere(ROTATED);
    }

    /** Neither in the database, of which others are not so sure. */
    private void assertNowhere(String secret) throws IOException {
        try (Stream<Path> files = Files.walk(homeostat.stateDir())) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                assertFalse(Files.readString(file, StandardCharsets.ISO_8859_1).contains(secret), file.toString());
            }
        }
    }

    @Test
    void aFileThatIsGoneStopsNothingAndKeepsOthersFromBeginning() throws IOException {
        Path variables = homeostat.file("web.env", "USER_NAME=web\n");
        Path token = homeostat.file("token", SECRET);
        Path document = homeostat.file("web.yaml", web(variables, token));
        homeostat.applied(document);
        long pid = homeostat.pid("process/web");

        Files.delete(token);
        assertEquals("wait FILE_UNUSABLE", homeostat.planned("process/web"));
        homeostat.run("plan", "--detailed-exitcode").says("spec.env.TOKEN ").says(token.toString());
        homeostat.apply(document).exits(1).says(token.toString());
        homeostat.run("status").exits(1).says(token.toString());
        assertEquals(pid, homeostat.pid("process/web"));

        Files.writeString(token, SECRET);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        Files.writeString(token, ROTATED);
        JsonNode change = homeostat.plan().at("/changes/0");
        assertEquals("restart", change.get("action").asText());
        assertEquals("ENVIRONMENT_CHANGED", change.get("reason").asText());
        assertEquals("content of " + token + " changed", change.get("message").asText());
        homeostat.apply(document).exits(0);
        assertTrue(pid != homeostat.pid("process/web"));

        Files.writeString(variables, "USER_NAME=web\nhunter2\n");
        homeostat.run("validate", "-f", document.toString()).exits(0);
        homeostat.apply(document).exits(1).says("line 2 of it").doesNotSay("hunter2");
    }

    @Test
    void whatAProgramLogsOfADeletedSecretIsMaskedInItsEvents() throws IOException {
        Path token = homeostat.file("token", SECRET);
        Path gone = homeostat.directory().resolve("go");
        homeostat.declare("web.yaml", refusedAt(gone, token));
        homeostat.agent();
        homeostat.awaitRunning("process/web");

        Files.delete(token);
        Files.writeString(gone, "");

        eventually()
                .until(() -> homeostat
                        .run("events", "--for", "process/web")
                        .toString()
                        .contains("refused (masked)"));
        homeostat.run("events", "--for", "process/web").doesNotSay(SECRET);
    }

    @Test
    void whereNobodyRemembersADeletedSecretTheLogIsLeftOutOfEvents() throws IOException {
        Path token = homeostat.file("token", SECRET);
        Path gone = homeostat.directory().resolve("go");
        Path document = homeostat.file("web.yaml", refusedAt(gone, token));
        homeostat.applied(document);

        Files.delete(token);
        Files.writeString(gone, "");
        eventually().until(() -> homeostat.processes("process/web").isEmpty());
        homeostat.apply(document).exits(1);

        homeostat
                .run("events", "--for", "process/web")
                .says("left out: " + token)
                .doesNotSay(SECRET);
    }

    /** The program's own log has the secret, so only events are looked at. */
    private static Document refusedAt(Path signal, Path token) {
        return Document.script("web", "until test -e " + signal + "; do sleep 0.05; done; echo refused $TOKEN; exit 3")
                .with("env", Map.of("TOKEN", Map.of("file", token.toString())));
    }

    @Test
    void nothingIsLaunchedBeforeTheFileIsThere() throws IOException {
        Path variables = homeostat.file("web.env", "");
        Path token = homeostat.directory().resolve("token");
        homeostat.declare("web.yaml", web(variables, token));
        homeostat.agent();
        eventually().until(() -> homeostat.planned("process/web"), "wait FILE_UNUSABLE"::equals);
        assertEquals(List.of(), homeostat.processes("process/web"));

        Files.writeString(token, SECRET);

        homeostat.awaitRunning("process/web");
        assertEquals(List.of("PLAIN=1", "TOKEN=" + SECRET), environment());
    }
}
