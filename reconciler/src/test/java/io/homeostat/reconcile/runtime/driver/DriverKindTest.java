package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.MoreCollectors;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import org.junit.jupiter.api.Test;

class DriverKindTest {
    private static Traits traits(String config) {
        return new DriverKind().traits(Written.workload("""
                        apiVersion: homeostat.io/v1
                        kind: Driver
                        metadata: {name: raw-exec}
                        spec:
                          install: local
                          entryPoint: /usr/lib/raw-exec
                        """ + config).spec());
    }

    private static LaunchInput config(String config) {
        return traits(config).inputs().stream()
                .filter(input -> input.name().equals("config"))
                .collect(MoreCollectors.onlyElement());
    }

    @Test
    void itsConfigurationIsAReasonToLaunchItAnew() {
        LaunchInput none = config("");
        LaunchInput some = config("  config: {enabled: true}\n");

        assertEquals(Reason.CONFIG_CHANGED, some.changed());
        assertNotEquals(none.hash(), some.hash());
        assertNotEquals(some.hash(), config("  config: {enabled: false}\n").hash());
        assertNotEquals(some.hash(), config("  config: {enabled: 'true'}\n").hash());
        assertNotEquals(none.hash(), config("  config: {}\n").hash());
    }

    @Test
    void theOrderOfItsKeysIsNone() {
        assertEquals(
                config("  config: {a: 1, b: [{c: 1, d: 2}, x]}\n").hash(),
                config("  config: {b: [{d: 2, c: 1}, x], a: 1}\n").hash());
        assertNotEquals(
                config("  config: {b: [x, y]}\n").hash(),
                config("  config: {b: [y, x]}\n").hash());
    }

    @Test
    void itIsStartedByBeingSetUpAndSaysHowItIs() {
        Traits traits = traits("");

        assertEquals(Readiness.HANDSHAKE_AND_START_ANSWERED, traits.readiness());
        assertEquals(Traits.Completion.EXIT, traits.completion());
        assertTrue(traits.hasHealth());
        assertTrue(traits.limiting() == Traits.Limiting.IN_PLACE);
        assertTrue(KindTraits.of(new DriverKind().kind()).isStartedExplicitly());
        assertTrue(new DriverKind().isCheckedByMachine());
    }
}
