package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.proto.nomad.base.ConfigSchemaResponse;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Spec;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests what is observed of drivers, whether they answer or not. */
class DriverObserverTest {
    private static final Observation<ImmutableList<ObservedInstance>> SEEN = Observation.unseen("as a process");
    private static final Observation<ObservedLimits> LIMITS = Observation.unseen("as a process");

    @TempDir
    Path root;

    private final List<String> asked = new ArrayList<>();
    private DriverMachine host;
    private DriverObserver observer;

    @BeforeEach
    void open() throws Exception {
        host = new DriverMachine(root);
        observer = new DriverObserver(
                new InstanceObserver() {
                    @Override
                    public Observation<ImmutableList<ObservedInstance>> look(
                            WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
                        return SEEN;
                    }

                    @Override
                    public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
                        return LIMITS;
                    }

                    @Override
                    public void watch(Instance instance, Runnable ended) {
                        asked.add("watch");
                    }

                    @Override
                    public void close() {
                        asked.add("close");
                    }
                },
                new RunningDrivers(host.machine),
                Duration.ofMinutes(1));
    }

    @AfterEach
    void close() throws Exception {
        host.close();
    }

    private static Workload driver(String entryPoint, String more) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Driver
                metadata: {name: runner}
                spec:
                  install: local
                  revision: "1"
                  entryPoint: %s
                  %s
                """.formatted(entryPoint, more));
    }

    private static Workload driver(String more) {
        return driver("/usr/lib/runner", more);
    }

    @Test
    void asAProcessItIsSeenByTheOthers() {
        assertSame(SEEN, observer.look(DriverMachine.RUNNER, ImmutableList.of(), Checks.NONE));
        assertSame(LIMITS, observer.limits(DriverMachine.RUNNER, ImmutableList.of()));
        observer.watch(host.runner(), () -> {});
        observer.close();

        assertEquals(List.of("watch", "close"), asked);
    }

    @Test
    void theProgramThatRunsChecksItsConfiguration() {
        Workload inForce = driver("");

        FieldCheck right = observer.check(driver("config: {path: /a}"), inForce);
        assertEquals(List.of(), right.problems());
        assertEquals("", right.unchecked());
        FieldCheck wrong = observer.check(driver("config: {path: [1]}"), inForce);
        assertEquals(
                ImmutableList.of("spec", "config", "path"),
                wrong.problems().getFirst().path());
    }

    @Test
    void anotherProgramHasASchemaThatNobodyKnows() {
        assertFalse(observer.check(driver("config: {a: 1}"), null).unchecked().isEmpty());
        assertFalse(observer.check(driver("config: {a: 1}"), driver("/other", ""))
                .unchecked()
                .isEmpty());
        Workload newer = driver("config: {a: 1}");
        host.remember(new Instance(
                DriverMachine.LAUNCH,
                DriverMachine.RUNNER,
                "target",
                "another revision",
                null,
                host.runner().inputs(),
                DriverMachine.START,
                host.runner().process(),
                Instance.Phase.STARTED,
                ""));
        assertFalse(observer.check(newer, driver("")).unchecked().isEmpty());
        assertEquals(FieldCheck.NONE, observer.check(driver(""), null));
    }

    @Test
    void aDriverThatCannotBeAskedLeavesItsConfigurationUnchecked() throws Exception {
        host.driver.failing("ConfigSchema", Status.UNAVAILABLE);
        assertFalse(
                observer.check(driver("config: {a: 1}"), driver("")).unchecked().isEmpty());
        assertEquals(FieldCheck.NONE, observer.check(driver(""), driver("")));

        host.endProcess();
        assertFalse(
                observer.check(driver("config: {a: 1}"), driver("")).unchecked().isEmpty());
        assertEquals(FieldCheck.NONE, observer.check(driver(""), driver("")));
    }

    private SelfDescription described() {
        return observer.describe(DriverMachine.RUNNER).orElseThrow();
    }

    @Test
    void itDescribesItself() {
        assertEquals("driver", described().name());
        assertEquals("fake", described().json().path("plugin").path("name").asText());
        assertEquals("healthy", described().json().path("health").path("state").asText());
        assertTrue(described().json().path("capabilities").path("exec").asBoolean());
    }

    @Test
    void aDriverThatCannotBeAskedIsDescribedByThat() throws Exception {
        host.driver.failing("Capabilities", Status.UNAVAILABLE);
        assertTrue(described().json().has("problem"));
        assertFalse(described().json().has("plugin"));

        host.endProcess();
        assertTrue(described().json().has("problem"));
        assertEquals(1, described().sections().getFirst().lines().size());
    }

    private String unexplained() {
        return switch (observer.explain(DriverMachine.RUNNER)) {
            case Observation.Unseen<ImmutableList<Explanation>>(String why) -> why;
            case Observation.Seen<ImmutableList<Explanation>> seen -> fail(seen.toString());
        };
    }

    @Test
    void itExplainsWhatItAndItsTasksTake() {
        ImmutableList<Explanation> all = switch (observer.explain(DriverMachine.RUNNER)) {
            case Observation.Seen<ImmutableList<Explanation>>(var seen) -> seen;
            case Observation.Unseen<ImmutableList<Explanation>>(String why) -> fail(why);
        };
        assertEquals(
                List.of("Driver.spec.config", "Task.spec.config"),
                all.stream().map(Explanation::path).toList());
        assertEquals(
                List.of("Driver", "Task"), all.stream().map(Explanation::kind).toList());
        assertEquals("path", all.getFirst().fields().getFirst().name());
        assertEquals("string", all.getFirst().fields().getFirst().type());
        assertFalse(all.getFirst().fields().getFirst().required());
    }

    @Test
    void whatCannotBeExplainedIsToldWithARemedy() throws Exception {
        host.driver.answering(
                "ConfigSchema",
                ConfigSchemaResponse.newBuilder()
                        .setSpec(Spec.newBuilder()
                                .setAttr(Attr.newBuilder().setName("a").setType("no type")))
                        .build());
        assertFalse(unexplained().isEmpty());
        host.driver.failing("ConfigSchema", Status.UNAVAILABLE);
        assertFalse(unexplained().isEmpty());

        host.endProcess();
        assertTrue(unexplained().contains("homeostat status driver/runner"));
        host.forget(DriverMachine.RUNNER);
        assertTrue(unexplained().contains("homeostat apply"));
    }
}
