package io.homeostat.reconcile.secrets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.reconcile.Written;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a plugin says of its health can quote what it was given. */
class MaskedHealthTest {
    private static final Instant NOW = Instant.parse("2026-11-20T13:00:00Z");
    private static final Workload PLUGIN = Written.workload("""
            apiVersion: homeostat.io/v1
            kind: Plugin
            metadata: {name: a}
            spec:
              install: local
              entryPoint: /bin/a
              config: {string: "password: hunter2-of-a"}
            """);

    @Test
    void anErrorLosesTheSecretsThatThePluginWasGiven() {
        Health failed =
                Health.failed(Verdict.UNHEALTHY, "GetStatus failed with INTERNAL: no login as hunter2-of-a", NOW);
        assertEquals(
                Health.failed(Verdict.UNHEALTHY, "GetStatus failed with INTERNAL: no login as (masked)", NOW),
                seen(failed));
    }

    @Test
    void whatItReportsWhileItIsWellLosesThemToo() {
        Health well = new Health(Verdict.HEALTHY, 3, ImmutableList.of("logged in as hunter2-of-a", "idle"), "", NOW);
        assertEquals(
                new Health(Verdict.HEALTHY, 3, ImmutableList.of("logged in as (masked)", "idle"), "", NOW), seen(well));
    }

    private static Health seen(Health health) {
        Instance instance = new Instance(
                "l1",
                WorkloadId.plugin("a"),
                "t",
                "local",
                null,
                ImmutableSortedMap.of(),
                NOW,
                new ProcessIdentity(1, 1, "boot"),
                Phase.STARTED,
                "");
        Running running = new Running(new ProcessIdentity(1, 1, "boot"), Duration.ofHours(1), true, health);
        Observation<Running> seen =
                new MaskedHealth((one, known, spec) -> Observation.seen(known)).of(instance, running, PLUGIN.spec());
        Running known = (Running) assertInstanceOf(Observation.Seen.class, seen).value();
        return Objects.requireNonNull(known.health());
    }
}
