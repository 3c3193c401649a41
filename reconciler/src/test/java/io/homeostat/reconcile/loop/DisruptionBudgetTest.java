package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.MemoryStore;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How long what is withdrawn waits for a dependant that can't be seen. */
class DisruptionBudgetTest {
    private static final WorkloadId DB = WorkloadId.process("db");
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final Declarations desired = new Declarations();
    private final MemoryStore store = new MemoryStore();
    private final DisruptionBudget budget = budget();

    DisruptionBudgetTest() {
        desired.declare(WorkloadId.plugin("other"), "A", ImmutableList.of(), null);
        Workload web = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec: {install: local, entryPoint: /bin/a, dependsOn: [process/db]}
                """);
        Instance instance = new Instance(
                "launch",
                WEB,
                "hash",
                "1",
                null,
                LaunchInputs.recorded(web, null),
                NOW,
                new ProcessIdentity(1, 1, "boot"),
                Phase.STARTED,
                "");
        store.commit(new Change(
                WEB,
                WorkloadHistory.DELETED,
                false,
                ImmutableList.of(instance),
                ImmutableList.of(),
                ImmutableList.of()));
    }

    private DisruptionBudget budget() {
        return new DisruptionBudget(desired, store, new Blind());
    }

    private static List<WorkloadId> leaving(DisruptionBudget budget, Declarations desired) {
        return budget.of(DB, desired.now(), HostFacts.of("boot", "instance"), WorkloadHistory.DELETED)
                .leaving();
    }

    private List<WorkloadId> leaving() {
        return leaving(budget, desired);
    }

    @Test
    void whatCanNotBeSeenIsWaitedForAsLongAsThatMayPass() {
        budget.looked(WEB, true, NOW);
        assertEquals(List.of(WEB), leaving());
        budget.looked(WEB, true, NOW.plus(PATIENCE).minusNanos(1));
        assertEquals(List.of(WEB), leaving());

        budget.looked(WEB, true, NOW.plus(PATIENCE));
        assertEquals(List.of(), leaving());
        assertEquals(List.of(WEB), leaving(budget(), desired), "another agent has not looked yet");

        budget.looked(WEB, false, NOW.plus(PATIENCE));
        assertEquals(List.of(WEB), leaving());
    }

    @Test
    void oneLookThatSeesSomethingBeginsAllOfItAnew() {
        budget.looked(WEB, true, NOW);
        budget.looked(WEB, false, NOW.plusSeconds(30));
        budget.looked(WEB, true, NOW.plus(PATIENCE));

        assertEquals(List.of(WEB), leaving());
    }

    /** Nothing is asked of it here. */
    private static final class Blind implements Observer {
        @Override
        public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            throw new AssertionError("looked at " + id);
        }

        @Override
        public boolean isGone(Instance instance) {
            return false;
        }

        @Override
        public HostFacts host(ImmutableSet<HostFact> asked) {
            throw new AssertionError("asked for " + asked);
        }

        @Override
        public ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths) {
            throw new AssertionError("read " + paths);
        }

        @Override
        public Observation<ImmutableSet<String>> archives() {
            throw new AssertionError("looked for archives");
        }

        @Override
        public Observation<ImmutableSet<WorkloadId>> traces() {
            throw new AssertionError("looked for traces");
        }
    }
}
