package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.source.FilesSource;
import io.homeostat.desired.source.SetTexts;
import io.homeostat.desired.source.StoredWorkloads;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What commands say of documents that are not for this machine. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class PlacementTest {
    private Path directory;
    private Path declared;
    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        directory = Shell.userDirectory();
        declared = Files.createDirectory(directory.resolve("declared"));
        shell = new Shell(directory).with(Map.of("XDG_CONFIG_HOME", directory + "/config"));
        Path config = Files.createDirectories(directory.resolve("config/homeostat"));
        Files.writeString(
                config.resolve("agent.yaml"), "labels: {role: web}\nsources: {files: [%s]}\n".formatted(declared));
    }

    @AfterEach
    void cleanUp() throws IOException {
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @Test
    void applyStoresNothingOfADocumentForOtherMachinesAndSaysSo() throws IOException {
        Files.writeString(directory.resolve("db.yaml"), process("db", "{matchLabels: {role: db}}"));

        Result applied = shell.run("apply", "-f", directory + "/db.yaml");

        assertEquals(0, applied.status(), applied.err());
        assertTrue(
                applied.err()
                        .contains("process/db is not for this machine, so nothing of it was stored:"
                                + " placement.matchLabels asks for role 'db', and this machine has 'web'"),
                applied::toString);
        assertFalse(Files.exists(shell.state()), "nothing was stored");
    }

    @Test
    void planNamesWhatIsNotForThisMachineAndWhy() throws IOException {
        Files.writeString(
                directory.resolve("both.yaml"),
                process("web", "{matchLabels: {role: web}}") + process("web", "{excludeLabels: {role: web}}"));

        Result planned = shell.run("plan", "-f", directory + "/both.yaml");
        Result json = shell.run("plan", "-f", directory + "/both.yaml", "-o", "json");

        assertEquals(0, planned.status(), planned.err());
        assertTrue(planned.out().contains("Plan: 1 to install"), planned.out());
        assertTrue(planned.out().endsWith("""

                                Not for this machine:
                                  process/web 1: placement.excludeLabels leaves out role 'web', which this machine has
                                """), planned.out());
        assertTrue(json.out().contains("\"notHere\""), json.out());
        assertTrue(json.out().contains("leaves out role 'web', which this machine has"), json.out());
    }

    @Test
    void filesDeclareWhatIsForThisMachineOnly() throws IOException {
        Files.writeString(
                declared.resolve("all.yaml"),
                process("web", "{matchLabels: {role: web}}") + process("db", "{matchLabels: {role: db}}"));

        Result planned = shell.run("plan");

        assertTrue(planned.out().contains("process/web"), planned::toString);
        assertFalse(planned.out().contains("+ process/db"), planned::toString);
        assertTrue(planned.out().contains("Plan: 1 to install"), planned::toString);
    }

    @Test
    void planAndDescribeTellWhatOfFilesIsNotForThisMachine() throws IOException {
        Files.writeString(
                declared.resolve("all.yaml"),
                process("web", "{matchLabels: {role: web}}") + process("db", "{matchLabels: {role: db}}"));
        Path other = shell.write("other.yaml", "labels: {role: db}\nsources: {files: [%s]}\n".formatted(declared));

        assertNotHere("process/db", "asks for role 'db', and this machine has 'web'");
        assertFalse(
                shell.run("plan", "-f", declared.resolve("all.yaml").toString())
                        .out()
                        .matches("(?s).*process/db.*process/db.*"),
                "beside documents files are left out");
        Result named = shell.run("plan", "--config", other.toString());
        assertTrue(
                named.out()
                        .endsWith(
                                "process/web 1: placement.matchLabels asks for role 'web', and this machine has 'db'\n"),
                named::toString);
    }

    @Test
    void whoHasNoHomeNamesAllThatIsRead() throws IOException {
        Files.writeString(declared.resolve("db.yaml"), process("db", "{matchLabels: {role: db}}"));
        shell = new Shell(directory).with(Map.of("HOMEOSTAT_CONFIG", directory + "/config/homeostat/agent.yaml"));

        assertNotHere("process/db", "asks for role 'db', and this machine has 'web'");
    }

    /** It has no labels, and reads files where everybody does who is not told otherwise. */
    @Test
    void anAgentTellsWhatOfItsOwnFilesIsNotForThisMachine() throws IOException {
        Files.writeString(declared.resolve("web.yaml"), process("web", "{matchLabels: {role: none}}"));
        Files.writeString(
                Files.createDirectory(directory.resolve("config/homeostat/desired.d"))
                        .resolve("db.yaml"),
                process("db", "{matchLabels: {role: db}}"));

        try (TestAgent agent = TestAgent.start(shell)) {
            assertNotHere("process/db", "asks for role 'db', and this machine has no such label");
            assertFalse(shell.run("plan").out().contains("process/web"), "the agent reads no such file");
            assertEquals(4, agent.calls());
        }
    }

    @Test
    void whatWasReadBeforeAndIsForOthersNowIsDescribedWithTheReason() throws IOException {
        Path file = Files.writeString(declared.resolve("web.yaml"), process("web", "{}"));
        Clock clock = Clock.systemUTC();
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), clock).store()) {
            SourceContent read = new FilesSource(ImmutableList.of(declared), Choice.ALL, clock)
                    .read(StoredWorkloads.of(SourceName.FILES, store.declarations()))
                    .content();
            store.replace(read, clock.instant());
        }
        Files.writeString(file, process("web", "{matchLabels: {role: db}}"));

        Result web = shell.run("describe", "process/web");
        JsonNode json = new ObjectMapper()
                .readTree(shell.run("describe", "process/web", "-o", "json").out());

        assertEquals(0, web.status(), web::toString);
        assertTrue(web.out().contains("""

                Not for this machine:
                  process/web 1: placement.matchLabels asks for role 'db', and this machine has 'web'
                """), web::toString);
        assertEquals(file.toString(), json.path("notHere").path(0).path("file").asText());
    }

    private void assertNotHere(String workload, String reason) throws IOException {
        Result planned = shell.run("plan");
        assertTrue(planned.out().endsWith("""

                        Not for this machine:
                          %s 1: placement.matchLabels %s
                        """.formatted(workload, reason)), planned::toString);
        JsonNode json =
                new ObjectMapper().readTree(shell.run("plan", "-o", "json").out());
        assertEquals(1, json.path("notHere").size(), json::toString);
        assertEquals(workload, json.path("notHere").path(0).path("workload").asText());
        Result described = shell.run("describe", workload);
        assertEquals(3, described.status());
        assertEquals(
                "homeostat: describe: not for this machine: " + workload + " 1: placement.matchLabels " + reason + "\n",
                described.err());
    }

    @Test
    void planAndDescribeTellWhatOfAPublishedSetIsNotForThisMachine() throws IOException {
        String documents = process("web", "{matchLabels: {role: web}, excludeLabels: {site: museum}}")
                + process("web", "{excludeLabels: {role: web}}")
                + process("db", "{matchLabels: {role: db}}")
                + process("db", "{matchLabels: {role: cache}, excludeLabels: {site: lab}}");
        Instant now = Instant.parse("2026-11-20T12:00:00Z");
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store()) {
            String name = "https://fleet.example/all.yaml";
            ImmutableSortedMap<String, String> texts = ImmutableSortedMap.of("all.yaml", documents);
            MachineLabels labels = new MachineLabels(ImmutableSortedMap.of("role", "web"), Optional.empty());
            store.take(
                    new StoredSet.Content(
                            new StoredSet(SourceName.HTTPS, name, "v1", 0, Optional.empty(), "d", now),
                            ImmutableList.of(),
                            texts),
                    new SourceContent(
                            SourceName.HTTPS,
                            SetTexts.read(name, texts, labels).workloads().stream()
                                    .map(read -> new ToApply(read.workload(), read.file()))
                                    .collect(ImmutableList.toImmutableList()),
                            ImmutableSet.of(),
                            ImmutableList.of()),
                    now);
            // The standing of a source that was asked.
            store.answered(SourceName.HTTPS, name, now);
        }

        assertTrue(
                shell.run("plan").out().endsWith("""

                                Not for this machine:
                                  process/web 1: placement.excludeLabels leaves out role 'web', which this machine has
                                  process/db 1: placement.matchLabels asks for role 'db', and this machine has 'web'
                                  process/db 1: placement.matchLabels asks for role 'cache', and this machine has 'web'
                                """), () -> shell.run("plan").toString());
        Result web = shell.run("describe", "process/web");
        assertTrue(
                web.out()
                        .contains(
                                "process/web 1: placement.excludeLabels leaves out role 'web', which this machine has"),
                web::toString);
        assertTrue(web.out().contains("""

                For this machine:
                  placement.matchLabels asks for role 'web', which this machine has
                  placement.excludeLabels leaves out site 'museum', and this machine has no such label
                """), web::toString);
        JsonNode json = new ObjectMapper()
                .readTree(shell.run("describe", "process/web", "-o", "json").out());
        assertEquals(1, json.path("notHere").size(), json::toString);
        assertEquals(
                "placement.matchLabels asks for role 'web', which this machine has",
                json.path("here").path(0).asText(),
                json::toString);
        Result db = shell.run("describe", "process/db");
        assertEquals(
                "homeostat: describe: not for this machine: process/db 1: placement.matchLabels asks for role 'db', and"
                        + " this machine has 'web'; process/db 1: placement.matchLabels asks for role 'cache', and this"
                        + " machine has 'web'\n",
                db.err());
    }

    /** A validation is for all machines, of which none may have two that declare the same. */
    @Test
    void validateTakesADirectoryThatIsToBePublished() throws IOException {
        Files.writeString(
                declared.resolve("all.yaml"),
                process("web", "{matchLabels: {role: web}}") + process("web", "{excludeLabels: {role: web}}"));
        assertEquals(
                "2 documents valid\n",
                shell.plain("validate", "-f", directory + "/declared").out());

        Files.writeString(declared.resolve("more.yaml"), process("web", "{matchLabels: {tier: front}}"));
        Result refused = shell.plain("validate", "-f", directory + "/declared");
        assertEquals(1, refused.status());
        assertTrue(refused.err().contains("both may be for one machine; change the placement of one"), refused.err());
    }

    @Test
    void aLabelThatWouldBeAFactOfTheHostIsRefused() throws IOException {
        Files.writeString(directory.resolve("agent.yaml"), "labels: {os.ID: debian}\n");

        Result refused = shell.plain("validate", "--config", directory + "/agent.yaml");

        assertEquals(1, refused.status());
        assertTrue(
                refused.err().contains("not os., host. or instance. at its beginning, which are facts of the host"),
                refused.err());
    }

    @Test
    void aRolloutOutsideOfASetSaysHowToPublishIt() throws IOException {
        Files.writeString(directory.resolve("r.yaml"), """
                apiVersion: homeostat.io/v1
                kind: Rollout
                metadata: {name: web-2}
                spec: {workloads: [process/web], from: "1", to: "2"}
                """);

        Files.writeString(
                directory.resolve("web.yaml"),
                process("web", "{}") + process("web", "{}").replace("revision: \"1\"", "revision: \"2\""));
        assertEquals(
                "3 documents valid\n",
                shell.plain("validate", "-f", directory + "/r.yaml", "-f", directory + "/web.yaml")
                        .out());
        Result refused = shell.run("apply", "-f", directory + "/r.yaml");

        assertEquals(1, refused.status());
        assertTrue(
                refused.err()
                        .contains(
                                "kind: Rollout is for sets that are published; homeostat publish -f DIR publishes one"),
                refused.err());
    }

    private static String process(String name, String placement) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                placement: %s
                spec: {install: local, revision: "1", entryPoint: /bin/sleep, arguments: ["600"]}
                """.formatted(name, placement);
    }
}
