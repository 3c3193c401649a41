package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests which changes of a task's declaration need another launch. */
class TaskKindTest {
    private static Traits traits(String spec) {
        return new TaskKind().traits(TaskBench.spec(spec));
    }

    private static List<Reason> changed(String before, String after) {
        Traits former = traits(before);
        Traits next = traits(after);
        return former.inputs().stream()
                .filter(input -> next.inputs().stream()
                        .noneMatch(other -> other.name().equals(input.name())
                                && other.hash().equals(input.hash())))
                .map(Traits.LaunchInput::changed)
                .toList();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "config: {path: a}|config: {path: b}|CONFIG_CHANGED",
                "config: {}|''|CONFIG_CHANGED",
                "env: {A: b}|env: {A: c}|ENVIRONMENT_CHANGED",
                "user: a|user: b|USER_CHANGED",
                "user: a|''|USER_CHANGED",
                "limits: {memory: 1Mi}|limits: {memory: 2Mi}|LIMITS_CHANGED",
                "limits: {memory: 1Mi, memoryMax: 2Mi}|limits: {memory: 1Mi, memoryMax: 3Mi}|LIMITS_CHANGED",
                "limits: {cpu: 10%}|limits: {cpu: 20%}|LIMITS_CHANGED",
                "limits: {cores: 1}|limits: {cores: 2}|LIMITS_CHANGED",
                "network: {mode: none}|network: {mode: task}|PROCESS_SETTINGS_CHANGED",
                "ports: [{label: a, port: 1}]|ports: [{label: a, port: 2}]|PROCESS_SETTINGS_CHANGED"
            })
    void eachSettingIsAReasonOfItsOwnToLaunchAnew(String before, String after, Reason reason) {
        assertEquals(List.of(reason), changed(before, after));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''|health: {timeout: 9s}",
                "config: {path: a, other: b}|config: {other: b, path: a}",
                "''|network: {mode: host}",
                "''|limits: {required: true}"
            })
    void whatDoesNotMatterToARunningTaskIsNoReason(String before, String after) {
        assertEquals(List.of(), changed(before, after));
    }

    @Test
    void anotherDriverIsAnotherLaunch() {
        Traits.LaunchInput driver = traits("").inputs().stream()
                .filter(input -> input.name().equals("driver"))
                .findFirst()
                .orElseThrow();

        assertEquals(Reason.ENTRY_POINT_CHANGED, driver.changed());
        assertNotEquals("", driver.hash());
    }

    @Test
    void itIsPartOfItsDriverAndReadyByItsProbeIfItHasOne() {
        assertEquals(Optional.of(DriverMachine.RUNNER), traits("").parent());
        assertFalse(traits("").hasHealth());

        Traits probed = traits("probe: {exec: {command: [a]}}");
        assertTrue(probed.hasHealth());
        assertEquals(Readiness.PROBE_SUCCEEDED, probed.readiness());
        assertEquals(Optional.of(DriverMachine.RUNNER), probed.parent());
        assertEquals(Traits.Limiting.AT_LAUNCH, probed.limiting());
    }

    @Test
    void itLeavesRemainsIsNotMovedByALaunchAndIsCheckedHere() {
        TaskKind kind = new TaskKind();

        assertEquals(Kind.TASK, kind.kind());
        assertTrue(kind.leavesRemains());
        assertFalse(kind.isMovedByLaunch());
        assertTrue(kind.isCheckedByMachine());
    }
}
