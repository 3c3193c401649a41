package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.Written;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** What of a declaration takes another launch, compared with what was recorded, be it by a version that did not know all of it. */
class LaunchInputsTest {
    private static final Workload PLAIN = process("");
    private static final Workload NICE = process("nice: 5");

    @Test
    void whatAnEarlierVersionLaunchedIsNotLaunchedAgainForSettingsThatNobodyDeclares() {
        assertFalse(LaunchInputs.of(PLAIN).containsKey("settings"));
        assertEquals(ImmutableList.of(), difference(PLAIN, PLAIN));
        assertTrue(LaunchInputs.matches(launched(PLAIN), PLAIN));
    }

    @Test
    void settingsThatComeGoOrChangeTakeAnotherLaunch() {
        assertEquals(ImmutableList.of(Reason.PROCESS_SETTINGS_CHANGED), difference(PLAIN, NICE));
        assertEquals(ImmutableList.of(Reason.PROCESS_SETTINGS_CHANGED), difference(NICE, PLAIN));
        assertEquals(ImmutableList.of(Reason.PROCESS_SETTINGS_CHANGED), difference(NICE, process("nice: 6")));
        assertEquals(
                ImmutableList.of(Reason.PROCESS_SETTINGS_CHANGED),
                difference(PLAIN, process("rlimits: {nofile: \"9\"}")));
        assertEquals(ImmutableList.of(), difference(NICE, NICE));
    }

    @Test
    void theTraitsOfADeclarationAreWorkedOutOnce() {
        assertSame(Traits.of(PLAIN), Traits.of(PLAIN));
    }

    private static ImmutableList<Reason> difference(Workload before, Workload wanted) {
        return LaunchInputs.differences(launched(before), wanted, null);
    }

    private static Instance launched(Workload workload) {
        return new Instance(
                "l1",
                workload.id(),
                "t",
                workload.revision(),
                null,
                ImmutableSortedMap.copyOf(LaunchInputs.of(workload)),
                Instant.EPOCH,
                new ProcessIdentity(1, 1, "boot"),
                Phase.STARTED,
                "");
    }

    private static Workload process(String settings) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec:
                  install: local
                  entryPoint: /bin/web
                  %s
                """.formatted(settings));
    }
}
