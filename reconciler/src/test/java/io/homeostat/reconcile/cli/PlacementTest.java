package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import io.homeostat.desired.source.SetTexts;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.sqlite.StateStores;
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

/** What commands say of a published set whose documents are not all for this machine. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class PlacementTest {
    private Path directory;
    private Path declared;
    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        directory = Shell.shortDirectory();
        declared = Files.createDirectory(directory.resolve("declared"));
        shell = new Shell(directory).asOrdinaryUser().with(Map.of("XDG_CONFIG_HOME", directory + "/config"));
        Path config = Files.createDirectories(directory.resolve("config/homeostat"));
        Files.writeString(
                config.resolve("agent.yaml"), "labels: {role: web}\nsources: {files: [%s]}\n".formatted(declared));
    }

    @AfterEach
    void cleanUp() throws IOException {
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
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

        String web = "  process/web 1: placement.excludeLabels [^\n]*'web'[^\n]*\n";
        String db = "  process/db 1: placement.matchLabels [^\n]*'db'[^\n]*'web'\n";
        Result plan = shell.run("plan");
        assertTrue(
                plan.out().matches("(?s).*\n\nNot for this machine:\n" + web + db + db.replace("'db'", "'cache'")),
                plan::toString);
        Result described = shell.run("describe", "process/web");
        assertTrue(described.out().matches("(?s).*\n" + web + ".*"), described::toString);
        assertTrue(
                described
                        .out()
                        .matches("(?s).*\n\nFor this machine:\n"
                                + "  placement.matchLabels [^\n]*'web'[^\n]*\n"
                                + "  placement.excludeLabels [^\n]*'museum'[^\n]*\n.*"),
                described::toString);
        JsonNode json = new ObjectMapper()
                .readTree(shell.run("describe", "process/web", "-o", "json").out());
        assertEquals(1, json.path("notHere").size(), json::toString);
        assertTrue(json.path("here").path(0).asText().matches("placement.matchLabels .*'web'.*"), json::toString);
        Result elsewhere = shell.run("describe", "process/db");
        assertTrue(
                elsewhere
                        .err()
                        .matches(
                                "homeostat: describe: [^\n;]*process/db 1: [^\n;]*'db'[^\n;]*; process/db 1: [^\n;]*'cache'[^\n;]*\n"),
                elsewhere::toString);
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
