package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.Written;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** When a launch counts as started, and how long it is left alone until then. */
class ReadinessTest {
    private static final Workload PLAIN = process("");
    private static final Workload PROBED = process("probe: {tcp: {address: \"127.0.0.1:80\"}}");
    private static final Workload PLUGIN = Written.workload("""
                    apiVersion: homeostat.io/v1
                    kind: Plugin
                    metadata: {name: p}
                    spec: {revision: r1, install: local, entryPoint: /bin/true}
                    """);
    private static final Health WELL = Health.healthy(NOW);
    private static final Health SICK = Health.failed(Health.Verdict.UNHEALTHY, "connection refused", NOW);

    @Test
    void aProcessWithoutAProbeHasStartedWhenItHasStayedAliveForASecond() {
        assertFalse(readiness(PLAIN).canBeSeen(aged(999, null)));
        assertTrue(readiness(PLAIN).canBeSeen(aged(1_000, null)));
    }

    @Test
    void oneWithAProbeWhenThatSucceedsAndNotBefore() {
        assertFalse(readiness(PROBED).canBeSeen(aged(60_000, null)), "not asked yet");
        assertFalse(readiness(PROBED).canBeSeen(aged(60_000, SICK)));
        assertTrue(readiness(PROBED).canBeSeen(aged(1, WELL)));
    }

    @Test
    void aPluginSaysItselfThatItHas() {
        assertFalse(readiness(PLUGIN).canBeSeen(aged(60_000, WELL)));
    }

    @Test
    void itIsOverdueAfterTheDeclaredTimeout() {
        assertFalse(isOverdue(PLAIN, aged(29_999, null)));
        assertTrue(isOverdue(PLAIN, aged(30_000, null)));
    }

    @Test
    void whatHasNotHappenedYetIsSaid() {
        String noStart = "it has not answered Start";
        String tooYoung = "it has not stayed alive for 1 s";
        assertEquals("it does not listen on its socket", readiness(PLUGIN).missing(aged(5, null)));
        Running listening = new Running(new ProcessIdentity(1, 1, "boot"), Duration.ofMillis(5), true, null);
        assertEquals(noStart, readiness(PLUGIN).missing(listening));
        assertEquals("it has not given its handshake", Readiness.HANDSHAKE_AND_START_ANSWERED.missing(aged(5, null)));
        assertEquals(noStart, Readiness.HANDSHAKE_AND_START_ANSWERED.missing(listening));
        assertEquals(tooYoung, readiness(PLAIN).missing(aged(5, SICK)));
        assertEquals(
                "its probe does not succeed: connection refused",
                readiness(PROBED).missing(aged(5, SICK)));
        Health young = Health.failed(Health.Verdict.UNKNOWN, tooYoung, NOW);
        assertEquals(tooYoung, readiness(PROBED).missing(aged(5, young)));
    }

    @Test
    void whatOnlyHasToStayAliveIsLookedAtWhenItHas() {
        assertEquals(Duration.ofMillis(600), readiness(PLAIN).poll(aged(400, null)));
        assertEquals(Duration.ofMillis(20), readiness(PLAIN).poll(aged(995, null)));
    }

    @Test
    void anythingElseIsLookedAtOftenAtFirstAndThenOnceASecond() {
        for (Workload spec : new Workload[] {PROBED, PLUGIN}) {
            assertEquals(Duration.ofMillis(20), readiness(spec).poll(aged(10, null)));
            assertEquals(Duration.ofMillis(300), readiness(spec).poll(aged(3_000, null)));
            assertEquals(Duration.ofSeconds(1), readiness(spec).poll(aged(25_000, null)));
        }
    }

    private static Running aged(long millis, @Nullable Health health) {
        return new Running(new ProcessIdentity(1, 1, "boot"), Duration.ofMillis(millis), false, health);
    }

    private static Workload process(String more) {
        return Written.workload("""
                        apiVersion: homeostat.io/v1
                        kind: Process
                        metadata: {name: p}
                        spec:
                          install: local
                          entryPoint: /bin/true
                          %s
                        """.formatted(more));
    }

    private static Readiness readiness(Workload spec) {
        return Traits.of(spec).readiness();
    }

    private static boolean isOverdue(Workload spec, Running running) {
        return readiness(spec).isOverdue(spec.lifecycle().start().timeout(), running);
    }
}
