package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the health of a task by its probe, above all when its driver cannot run the probe. */
class TaskProbesTest extends TaskTestBed {
    private static final Duration LONG_ALIVE = Duration.ofMinutes(1);
    private static final String EXEC = "probe: {exec: {command: [/bin/check, -q]}}\nhealth: {timeout: 70s}";

    private TaskProbes probes;
    private Instance running;

    @BeforeEach
    void open() throws Exception {
        probes = new TaskProbes(bench.host.machine, bench.tasks);
        running = bench.running();
    }

    @AfterEach
    void close() throws Exception {
        probes.close();
    }

    private Health ask(String spec, Duration age) throws Exception {
        TaskSpec declared = TaskBench.spec(spec);
        Probe probe = Objects.requireNonNull(declared.probe());
        Running seen = new Running(Objects.requireNonNull(running.identity()), age, true, null);
        Running asked = probes.asked(running, seen, declared, probe);
        assertEquals(seen.identity(), asked.identity());
        assertEquals(age, asked.age());
        assertTrue(asked.listening());
        return Objects.requireNonNull(asked.health());
    }

    private Verdict verdict() throws Exception {
        return ask(EXEC, LONG_ALIVE).verdict();
    }

    private void exits(int code, String output, String error) {
        bench.driver.answering(
                "ExecTask",
                ExecTaskResponse.newBuilder()
                        .setResult(ExitResult.newBuilder().setExitCode(code))
                        .setStdout(ByteString.copyFromUtf8(output))
                        .setStderr(ByteString.copyFromUtf8(error))
                        .build());
    }

    @Test
    void aCommandThatSucceedsInTheTaskIsHealth() throws Exception {
        exits(0, "ok", "");

        Health health = ask(EXEC, LONG_ALIVE);

        assertEquals(Health.healthy(DriverMachine.START), health);
        ExecTaskRequest request = bench.driver.last(ExecTaskRequest.class);
        assertEquals(bench.taskId(), request.getTaskId());
        assertEquals(List.of("/bin/check", "-q"), request.getCommandList());
        assertEquals(70, request.getTimeout().getSeconds());
    }

    @Test
    void aCommandThatFailsIsNoHealthAndItsLastWordsAreKept() throws Exception {
        exits(3, "out", "err");

        Health health = ask(EXEC, LONG_ALIVE);

        assertEquals(Verdict.UNHEALTHY, health.verdict());
        assertTrue(health.problem().contains("3") && health.problem().contains("out"), health.problem());
        assertTrue(health.problem().contains("err"), health.problem());
    }

    @Test
    void whatTheCommandSaysIsMasked() throws Exception {
        exits(1, "token is s3cr3t-value-1", "");

        Health health = ask(EXEC + "\nenv: {API_TOKEN: s3cr3t-value-1}", LONG_ALIVE);

        assertFalse(health.problem().contains("s3cr3t-value-1"), health.problem());
        assertTrue(health.problem().contains("token is"), health.problem());
    }

    @Test
    void aSuccessRightAfterTheStartMayBeThatOfAnother() throws Exception {
        exits(0, "", "");

        assertEquals(
                Verdict.UNKNOWN, ask(EXEC, Duration.ofSeconds(1).minusNanos(1)).verdict());
        assertEquals(Verdict.HEALTHY, ask(EXEC, Duration.ofSeconds(1)).verdict());
    }

    @Test
    void aFailureRightAfterTheStartIsOne() throws Exception {
        exits(1, "", "");

        assertEquals(Verdict.UNHEALTHY, ask(EXEC, Duration.ZERO).verdict());
    }

    @Test
    void aDriverThatRunsNoCommandsSaysNothingOfHealth() throws Exception {
        bench.driver.capable(DriverCapabilities.getDefaultInstance());

        assertEquals(Verdict.UNKNOWN, verdict());
        assertEquals(0, bench.driver.count("ExecTask"));
    }

    @Test
    void aDriverThatDoesNotRunSaysNothingOfHealth() throws Exception {
        bench.host.endProcess();

        assertEquals(Verdict.UNKNOWN, verdict());
    }

    @ParameterizedTest
    @CsvSource({
        "DEADLINE_EXCEEDED, HUNG",
        "UNAVAILABLE, UNKNOWN",
        "UNIMPLEMENTED, UNKNOWN",
        "UNKNOWN, UNHEALTHY",
        "INTERNAL, UNHEALTHY"
    })
    void whatTheDriverAnswersInsteadOfAStatusIsToldApart(Status.Code code, Verdict verdict) throws Exception {
        bench.driver.failing("ExecTask", code.toStatus());

        assertEquals(verdict, verdict());
    }

    @Test
    void anAnswerWithoutAResultIsNoHealth() throws Exception {
        bench.driver.answering("ExecTask", ExecTaskResponse.getDefaultInstance());

        assertEquals(Verdict.UNHEALTHY, verdict());
    }

    @Test
    void aProbeFromOutsideDoesNotAskTheDriver() throws Exception {
        Health health = ask("probe: {tcp: {address: 'no-such-host.invalid:1'}}", LONG_ALIVE);

        assertFalse(health.verdict() == Verdict.HEALTHY);
        assertEquals(0, bench.driver.calls.size());
    }

    @Test
    void onlyAProbeInsideTheTaskNeedsADriverThatRunsCommands() {
        DriverCapabilities without = DriverCapabilities.getDefaultInstance();

        assertFalse(TaskProbes.refusal(TaskBench.spec(EXEC), without).isEmpty());
        assertEquals(
                "",
                TaskProbes.refusal(
                        TaskBench.spec(EXEC), without.toBuilder().setExec(true).build()));
        assertEquals("", TaskProbes.refusal(TaskBench.spec("probe: {tcp: {address: 'a:1'}}"), without));
        assertEquals("", TaskProbes.refusal(TaskBench.spec(""), without));
    }
}
