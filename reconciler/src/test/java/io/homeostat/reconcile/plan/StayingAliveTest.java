package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.Written;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StayingAliveTest {
    @Test
    void aProcessThatNeedsNoMoreThanToStayAliveHasTheTimeToDoSoWhateverItsTimeout() {
        Workload spec = process("start: {timeout: 200ms}");

        assertFalse(isOverdue(spec, aged(Duration.ofMillis(999))));
        assertTrue(readiness(spec).canBeSeen(aged(Duration.ofSeconds(1))));
    }

    @Test
    void aProcessWhoseProbeDoesNotSucceedInTimeIsOverdue() {
        Workload spec = process("start: {timeout: 200ms}, probe: {tcp: {address: '127.0.0.1:1'}}");

        assertFalse(isOverdue(spec, aged(Duration.ofMillis(199))));
        assertTrue(isOverdue(spec, aged(Duration.ofMillis(200))));
    }

    @Test
    void aProbeThatCountsOnlyAfterASecondIsGivenThat() {
        Workload spec = process("start: {timeout: 200ms}, probe: {exec: {command: [/bin/true]}}");
        Health young = Health.failed(Health.Verdict.UNKNOWN, "too young", Instant.EPOCH);
        Health sick = Health.failed(Health.Verdict.UNHEALTHY, "exited with status 1", Instant.EPOCH);

        assertFalse(isOverdue(spec, aged(Duration.ofMillis(999), young)));
        assertTrue(isOverdue(spec, aged(Duration.ofSeconds(1), young)));
        assertTrue(isOverdue(spec, aged(Duration.ofMillis(200), sick)));
    }

    @Test
    void whatIsMissingIsSaidOfTheProbeAlsoWhereNobodyHasAskedIt() {
        assertEquals(
                "its probe has not succeeded yet",
                readiness(process("probe: {tcp: {address: '127.0.0.1:1'}}")).missing(aged(Duration.ofMinutes(1))));
        String missing = readiness(process("user: nobody")).missing(aged(Duration.ZERO));
        assertTrue(missing.endsWith(" alive for 1 s"), missing);
    }

    private static Workload process(String more) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: p}
                spec: {install: local, entryPoint: /bin/true, %s}
                """.formatted(more));
    }

    private static Running aged(Duration age) {
        return aged(age, null);
    }

    private static Running aged(Duration age, @Nullable Health health) {
        return new Running(new ProcessIdentity(1, 1, "boot"), age, false, health);
    }

    private static Readiness readiness(Workload spec) {
        return Traits.of(spec).readiness();
    }

    private static boolean isOverdue(Workload spec, Running running) {
        return readiness(spec).isOverdue(spec.lifecycle().start().timeout(), running);
    }
}
