package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command itself; what each check finds is {@code DoctorTest}'s. */
class DoctorReportTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void open() throws IOException {
        shell = new Shell(directory);
        shell.write(
                "agent.yaml",
                "sources: {files: [%1$s/desired.d], local: {directories: [%1$s/local, %1$s/no]}}\n"
                        .formatted(directory));
        Files.createDirectory(directory.resolve("local"));
    }

    private Result doctor(String... more) {
        String[] words = new String[3 + more.length];
        words[0] = "doctor";
        words[1] = "--config";
        words[2] = directory + "/agent.yaml";
        System.arraycopy(more, 0, words, 3, more.length);
        return shell.run(words);
    }

    @Test
    void whatIsOnlyDoubtfulIsNoFailureAndEveryLineSaysHowGoodItIs() {
        Result result = doctor();

        assertEquals(0, result.status(), result.out());
        result.out().lines().forEach(line -> assertTrue(line.matches("(ok  |warn)  [a-z ]{15}  .+"), line));
        assertTrue(result.out().contains(directory + "/local can be read"), result.out());
        assertFalse(result.out().contains(directory + "/no "), "where no package installs anything, nothing is wrong");
        assertFalse(Files.exists(shell.state()), "it only looks");
    }

    @Test
    void whatIsBrokenIsAFailureInTextAndJsonAlike() throws IOException {
        Files.createDirectory(shell.state());
        Files.writeString(shell.layout().database(), "this is no database");

        Result text = doctor();
        Result json = doctor("-o", "json");

        assertEquals(1, text.status(), text.out());
        assertTrue(text.out().contains("fail  database"), text.out());
        assertEquals(1, json.status(), json.out());
        JsonNode findings = new ObjectMapper().readTree(json.out()).path("findings");
        assertEquals(text.out().lines().count(), findings.size());
        boolean told = false;
        for (JsonNode finding : findings) {
            if (finding.path("check").asText().equals("database")) {
                told = finding.path("level").asText().equals("fail")
                        && !finding.path("remedy").asText().isEmpty();
            }
        }
        assertTrue(told, json.out());
    }

    @Test
    void aConfigurationThatIsWrongIsAFailureAndTheRestIsLookedAtAllTheSame() throws IOException {
        shell.write("agent.yaml", "log: {level: loud}\n");

        Result result = doctor();

        assertEquals(1, result.status(), result.out());
        assertTrue(result.out().contains("fail  configuration"), result.out());
        assertTrue(result.out().contains("database"), result.out());
    }

    @Test
    void whoIsToldByTheConfigurationIsLookedAt() throws IOException {
        shell.write(
                "agent.yaml",
                "notify: [{exec: [\"%s/pager\", s3cret]}, {exec: [sh]}, {webhook: \"http://127.0.0.1:1/\"}]\n"
                                .formatted(directory)
                        + "log: {target: journal}\n");
        shell = shell.with(Map.of("HOMEOSTAT_JOURNAL_SOCKET", directory + "/journal"));

        Result result = doctor();

        assertEquals(1, result.status(), result.out());
        assertTrue(
                result.out()
                        .contains("fail  notify           notify[0]: " + directory + "/pager is not there, or this"),
                result.out());
        assertTrue(result.out().contains("ok    notify           notify[1]: sh can be executed"), result.out());
        assertTrue(
                result.out().contains("warn  journal          " + directory + "/journal is not there, or this user"),
                result.out());
        assertFalse(result.out().contains("s3cret"), result.out());

        Files.createFile(directory.resolve("journal"));
        assertTrue(doctor().out().contains("ok    journal "));
    }
}
