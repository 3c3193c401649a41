package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaResponse;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Spec;
import io.homeostat.reconcile.runtime.DriverMachine;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests what a driver is asked of a declaration, before anything is done for it. */
class TaskChecksTest extends TaskTestBed {
    private TaskObserver observer;

    @BeforeEach
    void open() throws Exception {
        observer = new TaskObserver(bench.host.machine, bench.tasks, bench.host.groups.cgroups());
    }

    @AfterEach
    void close() throws Exception {
        observer.close();
    }

    private static Workload web(String spec) {
        return TaskBench.web(spec);
    }

    @Test
    void aConfigurationThatTheSchemaTakesIsNotRefused() {
        assertEquals("", observer.refusal(web("config: {path: /bin/true}")));
        assertFalse(observer.refusal(web("config: {path: [1]}")).isEmpty());
        assertFalse(observer.refusal(web("limits: {pids: 1}")).isEmpty());
    }

    @Test
    void aDriverThatCannotBeAskedRefusesNothing() throws Exception {
        bench.driver.failing("TaskConfigSchema", Status.UNAVAILABLE);
        assertEquals("", observer.refusal(web("config: {path: [1]}")));

        bench.host.endProcess();
        assertEquals("", observer.refusal(web("config: {path: [1]}")));
        assertFalse(observer.refusal(web("limits: {pids: 1}")).isEmpty());
    }

    @Test
    void whatTheDriverCannotDoIsRefused() {
        bench.driver.capable(DriverCapabilities.getDefaultInstance());

        assertTrue(observer.refusal(web("network: {mode: task}")).startsWith("spec.network.mode"));
        assertTrue(observer.refusal(web("probe: {exec: {command: [a]}}")).startsWith("spec.probe.exec"));
    }

    @Test
    void eachProblemIsAtTheFieldThatHasIt() {
        bench.driver.capable(DriverCapabilities.getDefaultInstance());

        FieldCheck check = observer.check(web("""
                config: {path: [1]}
                limits: {pids: 1}
                network: {mode: task}
                """), null);

        assertEquals(
                ImmutableList.of(
                        ImmutableList.of("spec", "config", "path"),
                        ImmutableList.of("spec", "network", "mode"),
                        ImmutableList.of("spec", "limits", "pids")),
                check.problems().stream().map(FieldCheck.FieldProblem::path).toList());
        assertEquals("", check.unchecked());
        assertEquals(
                FieldCheck.NONE.problems(),
                observer.check(web("config: {path: a}"), null).problems());
    }

    @Test
    void withoutADriverTheConfigurationIsUnchecked() throws Exception {
        bench.driver.failing("TaskConfigSchema", Status.UNAVAILABLE);
        assertFalse(observer.check(web(""), null).unchecked().isEmpty());

        bench.host.endProcess();
        FieldCheck check = observer.check(web("limits: {pids: 1}"), null);
        assertFalse(check.unchecked().isEmpty());
        assertEquals(1, check.problems().size());
    }

    @Test
    void anotherLaunchOfTheDriverMayHaveAnotherSchema() {
        Workload declared = web("config: {path: a}");
        assertEquals("", observer.refusal(declared));
        Spec other = Spec.newBuilder()
                .setAttr(Attr.newBuilder().setName("other").setType("string"))
                .build();
        bench.driver.answering(
                "TaskConfigSchema",
                TaskConfigSchemaResponse.newBuilder().setSpec(other).build());
        assertEquals("", observer.refusal(declared));

        bench.host.machine.drivers().forget(DriverMachine.LAUNCH);

        assertFalse(observer.refusal(declared).isEmpty());
    }

    @Test
    void secretsAreNotInARefusal() {
        String refusal = observer.refusal(web("config: {path: [s3cr3t-value-1]}\nenv: {API_TOKEN: s3cr3t-value-1}"));

        assertFalse(refusal.isEmpty());
        assertFalse(refusal.contains("s3cr3t-value-1"));
    }

    @Test
    void whoeverIsInterruptedHearsNothingAndStaysInterrupted() throws Exception {
        Instance running = bench.running();
        Thread.currentThread().interrupt();
        Observation<?> seen = observer.look(TaskBench.WEB, ImmutableList.of(running), Checks.NONE);
        assertTrue(Thread.interrupted());
        assertInstanceOf(Observation.Unseen.class, seen);

        Thread.currentThread().interrupt();
        String refusal = observer.refusal(web("limits: {pids: 1}"));
        assertTrue(Thread.interrupted());
        assertEquals("", refusal);

        Thread.currentThread().interrupt();
        FieldCheck check = observer.check(web("config: {path: [1]}"), null);
        assertTrue(Thread.interrupted());
        assertEquals(FieldCheck.NONE, check);
    }

    @Test
    void aTaskIsMeasuredByItsGroupsOrItsDriver() {
        assertTrue(observer.meter(TaskBench.WEB).isPresent());
    }
}
