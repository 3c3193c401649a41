package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the archive for whoever looks for a fault holds, and what it must never hold. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class DiagnosticsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** One for each place where a secret may stand. */
    private static final ImmutableList<String> SECRETS = ImmutableList.of(
            "cfgstring-8f3a",
            "line-two-of-it",
            "structvalue-77",
            "nestedsecret12",
            "env-hunter2",
            "arg-swordfish1",
            "posarg4hidden",
            "querysig0042",
            "urluser99",
            "urlpass-w0rd",
            "probeq-5511",
            "undeclared-tk-1",
            "endpointpw-31",
            "commentsecret-9");

    private static final String PROCESS = "\\S+/\\S+ \\S+ launched \\S+ as \\S+, [A-Z_]+, .+";
    private static final String DECLARATION = "\\S+/\\S+ of applied from /\\S+, generation 1";

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void plant() throws IOException {
        shell = new Shell(directory);
        shell.write("agent.yaml", """
                # commentsecret-9
                sources: {controlPlane: {endpoint: "agent:endpointpw-31@127.0.0.1:9"}}
                log: {level: warn}
                """);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    private void declareSecrets() throws IOException {
        shell.write("talker.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: talker}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments:
                    - -c
                    - 'echo "I got $CODE and $*" ; echo "fetching https://me:urlpass-w0rd@h/x?sig=undeclared-tk-1 now";
                       echo "api_key: undeclared-tk-1"; exec sleep 600'
                    - sh
                    - --token=arg-swordfish1
                    - posarg4hidden
                  env: {CODE: env-hunter2}
                  stop: {timeout: 5s}
                """);
        assertEquals(0, shell.run("apply", "-f", directory + "/talker.yaml").status());
        shell.write("others.yaml", """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: told}
                spec: {install: local, entryPoint: /bin/false, config: {string: "key=cfgstring-8f3a\\nline-two-of-it"}}
                ---
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: structured}
                spec:
                  install: local
                  entryPoint: /bin/false
                  config: {struct: {a: structvalue-77, deep: [{b: nestedsecret12}]}}
                ---
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: fetched}
                spec:
                  revision: "1"
                  source: {url: "http://urluser99:urlpass-w0rd@127.0.0.1:9/a.tar.gz?sig=querysig0042", attempts: 1}
                  entryPoint: run
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: probed}
                spec:
                  install: local
                  entryPoint: /bin/sleep
                  arguments: ["600"]
                  probe: {http: {url: "http://127.0.0.1:9/?k=probeq-5511"}}
                  stop: {timeout: 5s}
                """);
        // They can't converge; it is enough that they are declared and have failed.
        shell.run("apply", "-f", directory + "/others.yaml", "--timeout", "2s");
        await().atMost(Duration.ofSeconds(30))
                .until(() -> Files.readString(log()).contains("api_key"));
    }

    private Path log() {
        return shell.layout().log(WorkloadId.process("talker"));
    }

    private Result diagnose(String target) {
        return shell.run("diagnostics", target, "--config", directory + "/agent.yaml");
    }

    private Map<String, String> unpacked(String name) throws IOException {
        return unpacked(Files.readAllBytes(directory.resolve(name)));
    }

    private static Map<String, String> unpacked(byte[] archive) throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new GZIPInputStream(new ByteArrayInputStream(archive)))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                files.put(
                        entry.getName().substring("homeostat-diagnostics/".length()),
                        new String(tar.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return files;
    }

    private static String of(Map<String, String> files, String name) {
        return Objects.requireNonNull(files.get(name), name + " is not among " + files.keySet());
    }

    private static void assertNoSecrets(Map<String, String> files) {
        files.forEach((name, text) -> {
            for (String secret : SECRETS) {
                assertFalse(text.contains(secret), () -> secret + " stands in " + name + ":\n" + text);
            }
        });
    }

    @Test
    void allThatIsKnownIsInItAndNoneOfTheSecrets() throws IOException {
        declareSecrets();

        Result result = diagnose("d.tar.gz");

        assertEquals(0, result.status(), result.err());
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("d.tar.gz"))));
        assertFalse(Files.exists(directory.resolve("d.tar.gz.part")));
        Map<String, String> files = unpacked("d.tar.gz");
        assertNoSecrets(files);
        assertTrue(of(files, "logs/process-talker/process.log").contains("I got (masked) and"), files.toString());
        JsonNode status = JSON.readTree(of(files, "status.json"));
        assertEquals(5, status.path("workloads").size(), status.toString());
        assertTrue(of(files, "plan.json").contains("plugin/fetched"));
        assertTrue(of(files, "events.json").contains("PROCESS")
                || of(files, "events.json").contains("PLUGIN"));
        JsonNode told = JSON.readTree(of(files, "declarations/applied/plugin-told.json"));
        assertEquals("(masked)", told.path("spec").path("config").asText());
        assertEquals("/bin/false", told.path("spec").path("entryPoint").asText());
        JsonNode talker = JSON.readTree(of(files, "declarations/applied/process-talker.json"));
        assertEquals(
                "--token=(masked)",
                talker.path("spec").path("arguments").path(3).asText());
        assertEquals("(masked)", talker.path("spec").path("env").path("CODE").asText());
        assertTrue(of(files, "processes.txt").contains("process/talker local launched"));
        assertTrue(
                of(files, "processes.txt").lines().allMatch(line -> line.matches(PROCESS)), of(files, "processes.txt"));
        assertTrue(of(files, "histories.txt").contains("plugin/fetched\n  observed generation: 1\n  run: "));
        assertTrue(
                of(files, "declarations.txt").lines().allMatch(line -> line.matches(DECLARATION)),
                of(files, "declarations.txt"));
        assertEquals(5, of(files, "declarations.txt").lines().count());
        assertEquals(
                "homeostat: wrote " + directory + "/d.tar.gz; what is known to be secret is masked, but look through it"
                        + " before you give it away\n",
                result.err());
        assertTrue(of(files, "doctor.txt").contains("database"));
        assertTrue(of(files, "agent-config.json").contains("\"level\":\"warn\""));
        assertTrue(of(files, "version.txt").startsWith("homeostat "));
        assertTrue(of(files, "notes.txt").contains("agent: none is running"), files.get("notes.txt"));
    }

    @Test
    void aRunningAgentSaysWhatItsThreadsAreDoing() throws IOException {
        try (TestAgent agent = TestAgent.start(shell)) {
            declareSecrets();
            long before = agent.calls();

            Result result = diagnose("d.tar.gz");

            assertEquals(0, result.status(), result.err());
            Map<String, String> files = unpacked("d.tar.gz");
            assertNoSecrets(files);
            assertEquals(4, agent.calls() - before);
            // It dumps its threads on one of them: the one of this call, a virtual one.
            assertTrue(
                    of(files, "agent/threads.txt").contains("InspectCommand.threads"), files.get("agent/threads.txt"));
            assertTrue(of(files, "agent/threads.txt").contains("virtual"), files.get("agent/threads.txt"));
            assertEquals(
                    ProcessHandle.current().pid(),
                    JSON.readTree(of(files, "status.json"))
                            .path("agent")
                            .path("pid")
                            .asLong());
            assertTrue(of(files, "agent/limits").contains("Max open files"));
            try (var left = Files.list(shell.layout().runDir())) {
                assertTrue(left.noneMatch(file -> file.getFileName().toString().startsWith(".dump")));
            }
        }
    }

    @Test
    void anAgentThatDoesNotAnswerIsNotedAndTheRestIsRead() throws IOException {
        declareSecrets();
        try (TestAgent _ = TestAgent.start(shell)) {
            Files.writeString(
                    shell.layout().agentFile(),
                    Files.readString(shell.layout().agentFile()).replace("agent.sock", "gone.sock"));

            assertEquals(0, diagnose("d.tar.gz").status());

            Map<String, String> files = unpacked("d.tar.gz");
            assertNoSecrets(files);
            assertEquals(
                    5, JSON.readTree(of(files, "status.json")).path("workloads").size());
            assertFalse(files.containsKey("agent/threads.txt"));
            assertTrue(of(files, "notes.txt").contains("agent/threads.txt: not included: "), files.get("notes.txt"));
        }
    }

    @Test
    void withADamagedDatabaseItSaysWhatIsMissingAndHasTheRest() throws IOException {
        declareSecrets();
        byte[] whole = Files.readAllBytes(shell.layout().database());
        Files.writeString(shell.layout().database(), "this is no database");
        try {
            assertEquals(0, diagnose("d.tar.gz").status());
        } finally {
            Files.write(shell.layout().database(), whole);
        }

        Map<String, String> files = unpacked("d.tar.gz");
        assertNoSecrets(files);
        assertTrue(of(files, "notes.txt").contains("status.json: not included: "), files.get("notes.txt"));
        assertTrue(of(files, "notes.txt").contains("logs: not included: "), files.get("notes.txt"));
        assertTrue(of(files, "doctor.txt").contains("fail  database"), files.get("doctor.txt"));
        assertTrue(of(files, "version.txt").startsWith("homeostat "));
    }

    @Test
    void aConfigurationThatIsNotValidIsNotQuoted() throws IOException {
        shell.write("agent.yaml", "metrics: {listen: endpointpw-31}\nlog: {level: commentsecret-9}\n");

        assertEquals(0, diagnose("d.tar.gz").status());

        Map<String, String> files = unpacked("d.tar.gz");
        assertNoSecrets(files);
        assertTrue(of(files, "doctor.txt").contains("fail  configuration"), files.get("doctor.txt"));
        assertTrue(of(files, "agent-config.json").contains("not valid"));
    }

    @Test
    void nothingIsOverwritten() throws IOException {
        shell.write("d.tar.gz", "precious");
        Result result = diagnose("d.tar.gz");
        assertEquals(1, result.status());
        assertTrue(result.err().contains("exists already"), result.err());
        assertEquals("precious", Files.readString(directory.resolve("d.tar.gz")));

        shell.write("e.tar.gz.part", "somebody else's");
        assertEquals(1, diagnose("e.tar.gz").status());
        assertEquals("somebody else's", Files.readString(directory.resolve("e.tar.gz.part")));
        assertFalse(Files.exists(directory.resolve("e.tar.gz")));

        Result nowhere = diagnose("none/d.tar.gz");
        assertEquals(1, nowhere.status());
        assertTrue(
                nowhere.err()
                        .contains("cannot write " + directory + "/none/d.tar.gz: there is no directory " + directory
                                + "/none; create it, or choose another name"),
                nowhere.err());
        Result inFile = diagnose("d.tar.gz/d.tar.gz");
        assertTrue(inFile.err().contains(directory + "/d.tar.gz is not a directory"), inFile.err());
        Result proc = diagnose("/proc/d.tar.gz");
        assertEquals(1, proc.status());
        assertTrue(proc.err().contains("no files can be created in /proc"), proc.err());
    }

    @Test
    void aDashIsStandardOutputUnlessSomebodyLooksAtIt() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Result result = shell.into(out, "diagnostics", "-", "--state-dir", "state", "--run-dir", "run");
        assertEquals(0, result.status(), result.err());
        assertTrue(unpacked(out.toByteArray()).containsKey("version.txt"));
        assertFalse(Files.exists(shell.state()), "it only looks");

        assertEquals(64, shell.onTerminal().run("diagnostics", "-").status());
    }
}
