package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.desired.model.WorkloadId;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rules over what a metadata server says, with real processes. */
class RulesTest {
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final int SERVER_ERROR = 500;
    private static final String NO_MATCH = "metadata tier equal 'web' [^\n]*'db'";
    private static final String UNKNOWN = "metadata tier [^\n]*500";

    private final FakeMetadataServer metadata = new FakeMetadataServer();
    private final Path directory;
    private final Shell shell;

    RulesTest(@TempDir Path directory) throws IOException {
        this.directory = directory;
        shell = new Shell(directory).with(Map.of("GCE_METADATA_HOST", metadata.host()));
    }

    @BeforeEach
    void declare() throws IOException {
        shell.write("web.yaml", Shell.sleeper("web", 1000) + """
                  execution:
                    default: disabled
                    rules:
                      - {scope: metadata, attribute: tier, operator: equal, value: web}
                """);
    }

    @AfterEach
    void close() {
        shell.close();
        metadata.close();
    }

    @Test
    void itRunsWhereItsRulesMatchAndIsStoppedWhereTheyDoNot() {
        metadata.set("instance/attributes/tier", "web");
        applied("web.yaml");
        long pid = shell.pid(WEB);

        metadata.set("instance/attributes/tier", "db");
        String plan = shell.run("plan").out();
        assertTrue(plan.matches("(?s).*~ process/web +stop +\\([^\n]*" + NO_MATCH + ".*"), plan);
        applied("web.yaml");
        await().atMost(Duration.ofMinutes(1))
                .until(() ->
                        ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());

        assertTrue(shell.run("plan").out().matches("(?s).*" + NO_MATCH + ".*"));
        assertTrue(shell.run("plan", "-o", "json")
                .out()
                .matches(
                        "(?s).*\"disabled\":\\[\\{\"workload\":\"process/web\",\"reason\":\"DISABLED\",\"message\":\"[^\"]*"
                                + NO_MATCH + ".*"));
        Shell.Result status = shell.run("status", "process/web");
        assertEquals(0, status.status());
        assertTrue(status.out().matches("(?s).*" + NO_MATCH + ".*"), status.out());
    }

    @Test
    void whatCanNotBeAskedChangesNothing() {
        metadata.set("instance/attributes/tier", "web");
        applied("web.yaml");
        long pid = shell.pid(WEB);

        metadata.fail(SERVER_ERROR);

        applied("web.yaml");
        assertEquals(pid, shell.pid(WEB));
        String status = shell.run("status", "process/web").out();
        assertTrue(status.matches("(?s).*" + UNKNOWN + ".*"), status);
    }

    @Test
    void whatHasNeverBeenDecidedIsNotStartedAndSaysWhatIsUnknown() {
        metadata.fail(SERVER_ERROR);

        Shell.Result applied =
                shell.run("apply", "-f", directory.resolve("web.yaml").toString());

        assertEquals(1, applied.status());
        assertTrue(applied.out().matches("(?s).*" + UNKNOWN + ".*"), applied.out());
        metadata.fail(200);
        applied("web.yaml");
    }

    @Test
    void whoHasNoRulesAsksNobodyForFacts() throws IOException {
        shell.write("plain.yaml", Shell.sleeper("plain", 1000));

        applied("plain.yaml");

        assertTrue(metadata.asked().stream().noneMatch(path -> path.contains("attributes")));
    }

    @Test
    void anAgentAsksForOthersWhomItAsksForItself() {
        metadata.set("instance/attributes/tier", "db");
        try (TestAgent agent = TestAgent.start(shell)) {
            shell.with(Map.of());

            String plan = shell.run("plan", "-f", directory.resolve("web.yaml").toString())
                    .out();

            assertEquals(1, agent.calls());
            assertTrue(plan.matches("(?s).*" + NO_MATCH + ".*"), plan);
        }
    }

    private void applied(String file) {
        Shell.Result result = shell.run("apply", "-f", directory.resolve(file).toString());
        assertEquals(0, result.status(), result::toString);
    }
}
