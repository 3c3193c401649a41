package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.files.FileContent.Use;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchFile;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.runtime.RuntimeProvider.Access;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the planner knows of sandboxes and containers: what takes another launch, and what is changed in place. */
class KataKindsTest {
    @TempDir
    Path root;

    private final SandboxKind sandboxes = new SandboxKind();
    private final ContainerKind containers = new ContainerKind();

    private Traits sandboxTraits(String... fields) {
        return sandboxes.traits(sandbox(fields).spec());
    }

    private Traits containerTraits(String... fields) {
        return containers.traits(container(fields).spec());
    }

    private static ImmutableSet<Reason> changed(Traits one, Traits other) {
        ImmutableSet.Builder<Reason> changed = ImmutableSet.builder();
        for (int i = 0; i < one.inputs().size(); i++) {
            LaunchInput input = one.inputs().get(i);
            if (!input.hash().equals(other.inputs().get(i).hash())) {
                changed.add(input.changed());
            }
        }
        return changed.build();
    }

    @Test
    void agentsMoveNothingAndLeaveRemains() {
        assertEquals(Kind.SANDBOX, sandboxes.kind());
        assertEquals(Kind.CONTAINER, containers.kind());
        assertFalse(sandboxes.isMovedByLaunch());
        assertFalse(containers.isMovedByLaunch());
        assertTrue(sandboxes.leavesRemains());
        assertTrue(containers.leavesRemains());
    }

    @Test
    void eachKindHasItsObserverAndItsRuntime() throws Exception {
        try (KataScene scene = new KataScene(root)) {
            Access sandbox = sandboxes.open(scene.machine());
            Access container = containers.open(scene.machine());
            try (var observer = assertInstanceOf(SandboxObserver.class, sandbox.observer());
                    var other = assertInstanceOf(ContainerObserver.class, container.observer())) {
                assertInstanceOf(SandboxRuntime.class, sandbox.runtime().get());
                assertInstanceOf(ContainerRuntime.class, container.runtime().get());
                assertEquals(Optional.empty(), observer.describe(GUEST));
                assertTrue(other.meter(GUEST).isPresent());
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "hostname: other; SANDBOX_CHANGED",
                "dns: [10.0.0.53]; SANDBOX_CHANGED",
                "sharedPidNamespace: true; SANDBOX_CHANGED",
                "kernelModules: [nf_nat]; SANDBOX_CHANGED",
                "policy: {file: /etc/rules.rego}; POLICY_CHANGED"
            })
    void whatIsMadeWithASandboxTakesAnotherLaunch(String field, Reason reason) {
        assertEquals(ImmutableSet.of(reason), changed(sandboxTraits(), sandboxTraits(field)));
        assertEquals(sandboxTraits().config(), sandboxTraits(field).config());
    }

    @Test
    void anotherEndpointTakesAnotherLaunch() {
        Workload other = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Sandbox
                metadata: {name: guest}
                spec: {endpoint: "unix:///run/other.sock"}
                """);

        assertEquals(
                ImmutableSet.of(Reason.ENDPOINT_CHANGED), changed(sandboxTraits(), sandboxes.traits(other.spec())));
    }

    private static List<LaunchFile> files(Traits traits) {
        return traits.inputs().stream().flatMap(input -> input.files().stream()).toList();
    }

    @Test
    void theContentOfAPolicyIsPartOfALaunch() {
        assertEquals(
                List.of(new LaunchFile("spec.policy.file", "/etc/rules.rego", Use.BYTES)),
                files(sandboxTraits("policy: {file: /etc/rules.rego}")));
        assertEquals(List.of(), files(sandboxTraits()));
    }

    @Test
    void aNetworkIsChangedInPlaceWhateverItsOrder() {
        String one = "{dest: 10.1.0.0/16, device: eth0}";
        String other = "{dest: 10.2.0.0/16, device: eth0}";
        Traits traits = sandboxTraits("routes: [" + one + ", " + other + "]");

        assertEquals(
                traits.config(),
                sandboxTraits("routes: [" + other + ", " + one + "]").config());
        assertNotEquals(traits.config(), sandboxTraits("routes: [" + one + "]").config());
        assertNotEquals(
                sandboxTraits().config(),
                sandboxTraits("neighbors: [{address: 10.0.0.1, lladdr: \"02:00:00:00:00:09\", device: eth0}]")
                        .config());
        assertNotEquals(
                sandboxTraits().config(),
                sandboxTraits("interfaces: [{name: eth0, hwAddr: \"02:00:00:00:00:09\"}]")
                        .config());
        assertEquals(ImmutableSet.of(), changed(traits, sandboxTraits()));
        assertFalse(traits.configIsLimits());
    }

    @Test
    void theProcessesThatASandboxDependsOnAreItsMachine() {
        Traits traits = sandboxTraits("dependsOn: [process/vm, plugin/ops]");

        assertEquals(ImmutableList.of(new WorkloadId(Kind.PROCESS, "vm")), traits.hosts());
        assertEquals(Readiness.PROBE_SUCCEEDED, traits.readiness());
        assertTrue(traits.hasHealth());
        assertEquals(Optional.empty(), traits.parent());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "env: {A: b}; ENVIRONMENT_CHANGED",
                "user: {uid: 7}; USER_CHANGED",
                "terminal: true; PROCESS_SETTINGS_CHANGED",
                "capabilities: [KILL]; PROCESS_SETTINGS_CHANGED"
            })
    void whatIsMadeWithAContainerTakesAnotherLaunch(String field, Reason reason) {
        assertEquals(ImmutableSet.of(reason), changed(containerTraits(), containerTraits(field)));
    }

    @Test
    void anotherCommandOrSandboxTakesAnotherLaunch() {
        Workload other = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Container
                metadata: {name: app}
                spec: {sandbox: other, rootfs: {path: /rootfs}, command: [serve, --fast]}
                """);

        assertEquals(
                ImmutableSet.of(Reason.SANDBOX_CHANGED, Reason.ARGUMENTS_CHANGED),
                changed(containerTraits(), containers.traits(other.spec())));
    }

    @Test
    void limitsAreChangedInPlaceAndNotTakenBack() {
        Traits traits = containerTraits("limits: {memory: 64Mi, pids: 20}");

        assertNotEquals(containerTraits().config(), traits.config());
        assertNotEquals(
                containerTraits().config(), containerTraits("frozen: true").config());
        assertTrue(traits.configIsLimits());
        assertEquals(
                List.of("limits.memory", "limits.pids"), traits.irrevocable().asList());
        assertEquals(ImmutableSet.of(), changed(containerTraits(), traits));
    }

    @Test
    void aContainerIsPartOfItsSandboxAndEndsWithIt() {
        Traits traits = containerTraits();

        assertEquals(Optional.of(GUEST), traits.parent());
        assertTrue(traits.recreatedWithParent());
        assertEquals(Readiness.STAYED_ALIVE, traits.readiness());
        assertEquals(
                Readiness.PROBE_SUCCEEDED,
                containerTraits("probe: {exec: {command: [check]}}").readiness());
        assertNull(traits.entryPoint());
        assertTrue(LaunchInputs.recorded(container(), "s-1").containsValue("s-1"));
    }
}
