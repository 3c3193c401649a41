package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static io.homeostat.desired.state.sqlite.Samples.apply;
import static io.homeostat.desired.state.sqlite.Samples.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** What every {@link StateStore} promises. */
public abstract class StateStoreContract {
    /** A store that has never been used. */
    protected abstract StateStore store();

    @Test
    void aFreshStoreRemembersNothing() {
        StateStore store = store();

        assertEquals(ImmutableList.of(), store.declarations());
        assertEquals(ImmutableMap.of(), store.histories());
        assertEquals(ImmutableList.of(), store.instances());
        assertEquals(ImmutableList.of(), store.events(0, 10));
        assertEquals(WorkloadHistory.NONE, store.history(AGENT));
        assertFalse(store.everDeclared());
    }

    @Test
    void anAppliedDocumentComesBackAsItWas() {
        StateStore store = store();

        apply(store, "/etc/a.yaml", false, plugin("ops-agent", "A1"));

        StoredDeclaration applied = store.declarations().getFirst();
        assertEquals(plugin("ops-agent", "A1"), applied.workload());
        assertEquals("/etc/a.yaml", applied.origin());
        assertEquals(1, applied.generation());
        assertFalse(applied.hash().isEmpty());
        assertTrue(store.everDeclared());
    }

    @Test
    void anEqualDeclarationKeepsItsGeneration() {
        StateStore store = store();
        apply(store, "/a", false, plugin("ops-agent", "A1"));

        apply(store, "/a", false, plugin("ops-agent", "A1"));

        assertEquals(1, generation(store));
    }

    @Test
    void anotherOriginAloneIsNoNewGenerationButIsRemembered() {
        StateStore store = store();
        apply(store, "/a", false, plugin("ops-agent", "A1"));

        apply(store, "/b", false, plugin("ops-agent", "A1"));

        assertEquals(1, generation(store));
        assertEquals("/b", store.declarations().getFirst().origin());
    }

    @Test
    void eachChangeOfADeclarationIsANewGeneration() {
        StateStore store = store();
        apply(store, "/a", false, plugin("ops-agent", "A1"));
        apply(store, "/a", false, plugin("ops-agent", "B2"));

        apply(store, "/a", false, plugin("ops-agent", "A1"));

        assertEquals(3, generation(store));
        assertEquals("A1", store.declarations().getFirst().workload().revision());
    }

    @Test
    void generationsGoOnAfterADeletion() {
        StateStore store = store();
        apply(store, "/a", false, plugin("ops-agent", "A1"));
        apply(store, "/a", false, plugin("ops-agent", "B2"));
        store.delete(ImmutableList.of(AGENT));
        assertEquals(ImmutableList.of(), store.declarations());

        apply(store, "/a", false, plugin("ops-agent", "B2"));

        assertEquals(3, generation(store));
    }

    @Test
    void somethingWasDeclaredHereEvenAfterItIsGone() {
        StateStore store = store();
        apply(store, "/a", false, plugin("ops-agent", "A1"));

        store.delete(ImmutableList.of(AGENT));

        assertTrue(store.everDeclared());
    }

    @Test
    void anEmptyApplyDeclaresNothing() {
        StateStore store = store();

        apply(store, "/a", true);

        assertFalse(store.everDeclared());
    }

    @Test
    void deletingWhatWasNeverAppliedIsNoError() {
        StateStore store = store();
        apply(store, "/a", false, plugin("ops-agent", "A1"));

        store.delete(ImmutableList.of(WorkloadId.process("nobody-knows-it")));

        assertEquals(1, store.declarations().size());
    }

    @Test
    void pruningWithdrawsOnlyWhatTheSameOriginDeclaredBefore() {
        StateStore store = store();
        apply(store, "/a", false, plugin("kept", "1"), plugin("dropped", "1"));
        apply(store, "/b", false, plugin("elsewhere", "1"));

        ImmutableSet<WorkloadId> withdrawn = apply(store, "/a", true, plugin("kept", "1"));

        assertEquals(ImmutableSet.of(WorkloadId.plugin("dropped")), withdrawn);
        assertEquals(ImmutableSet.of("kept", "elsewhere"), appliedNames(store));
    }

    @Test
    void withoutPruningNothingIsWithdrawn() {
        StateStore store = store();
        apply(store, "/a", false, plugin("one", "1"), plugin("two", "1"));

        assertEquals(ImmutableSet.of(), apply(store, "/a", false, plugin("one", "1")));

        assertEquals(ImmutableSet.of("one", "two"), appliedNames(store));
    }

    @Test
    void whatMovedToAnotherOriginIsNotPrunedByTheOldOne() {
        StateStore store = store();
        apply(store, "/a", false, plugin("moved", "1"), plugin("other", "1"));
        apply(store, "/b", false, plugin("moved", "1"));

        assertEquals(ImmutableSet.of(), apply(store, "/a", true, plugin("other", "1")));

        assertEquals(ImmutableSet.of("moved", "other"), appliedNames(store));
    }

    @Test
    void pruningWithAnEmptyPathWithdrawsAllOfIt() {
        StateStore store = store();
        apply(store, "/a", false, plugin("one", "1"), plugin("two", "1"));

        assertEquals(ImmutableSet.of(WorkloadId.plugin("one"), WorkloadId.plugin("two")), apply(store, "/a", true));

        assertEquals(ImmutableList.of(), store.declarations());
    }

    @Test
    void aHistoryComesBackWithEveryFieldAsItWas() {
        StateStore store = store();

        store.commit(Samples.history(AGENT, Samples.eventful()));

        assertEquals(Samples.eventful(), store.history(AGENT));
        assertEquals(ImmutableMap.of(AGENT, Samples.eventful()), store.histories());
        assertTrue(store.everDeclared());
    }

    @Test
    void aHistoryOfNothingComesBackAsWell() {
        StateStore store = store();

        store.commit(Samples.history(AGENT, WorkloadHistory.NONE));

        assertEquals(ImmutableMap.of(AGENT, WorkloadHistory.NONE), store.histories());
    }

    @Test
    void aNullHistoryLeavesTheOldOneAndADropForgetsIt() {
        StateStore store = store();
        store.commit(Samples.history(AGENT, Samples.eventful()));

        store.commit(Samples.events(AGENT, "started"));
        assertEquals(Samples.eventful(), store.history(AGENT));

        store.commit(new Change(AGENT, null, true, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
        assertEquals(WorkloadHistory.NONE, store.history(AGENT));
        assertEquals(1, store.events(0, 10).size());
        assertTrue(store.everDeclared());
    }

    @Test
    void handlesAreAddedReplacedAndEnded() {
        StateStore store = store();
        Instance first = Samples.instance(AGENT, "launch-1");
        Instance young = new Instance(
                "launch-2",
                AGENT,
                "h1",
                "A1",
                null,
                first.inputs(),
                Samples.NOON.plusSeconds(1),
                null,
                Phase.INTENDED,
                "");
        Instance other = Samples.instance(WorkloadId.process("exporter"), "launch-3");
        store.commit(Change.ofInstance(first));
        store.commit(Change.ofInstance(young));
        store.commit(Change.ofInstance(other));
        assertEquals(ImmutableList.of(first, young), store.instances(AGENT));

        Instance known = young.withIdentity(new ProcessIdentity(1, 2, "boot")).withPhase(Phase.START_SENT, "c1");
        store.commit(new Change(
                AGENT, null, false, ImmutableList.of(known), ImmutableList.of("launch-1"), ImmutableList.of()));

        assertEquals(ImmutableList.of(known), store.instances(AGENT));
        assertEquals(ImmutableSet.of(known, other), ImmutableSet.copyOf(store.instances()));
    }

    @Test
    void whatHasAHistoryOrAnInstanceIsRemembered() {
        StateStore store = store();
        Instance instance = Samples.instance(WorkloadId.process("exporter"), "launch-1");
        store.commit(Samples.history(AGENT, Samples.eventful()));
        store.commit(Change.ofInstance(instance));

        assertEquals(ImmutableSet.of(AGENT, instance.workload()), store.remembered());
        assertEquals(ImmutableSet.of(AGENT), store.histories().keySet());

        store.commit(Change.ofEnd(instance));
        assertEquals(ImmutableSet.of(AGENT), store.remembered());
    }

    @Test
    void handlesComeInTheOrderOfTheirLaunch() {
        StateStore store = store();
        Instance late = launchedAt("a", "2026-11-20T12:00:00.500Z");
        Instance early = launchedAt("b", "2026-11-20T12:00:00Z");

        store.commit(Change.ofInstance(late));
        store.commit(Change.ofInstance(early));

        assertEquals(ImmutableList.of(early, late), store.instances(AGENT));
    }

    @Test
    void eventsComeInTheOrderOfTheirStorageWithGrowingIds() {
        StateStore store = store();
        store.commit(Samples.events(AGENT, "one", "two"));
        store.commit(Samples.events(WorkloadId.process("exporter"), "three"));

        ImmutableList<StoredEvent> all = store.events(0, 10);

        assertEquals(ImmutableList.of("one", "two", "three"), messages(all));
        assertTrue(all.get(0).id() < all.get(1).id()
                && all.get(1).id() < all.get(2).id());
        assertEquals(Samples.event(AGENT, "one"), all.getFirst().event());
        assertEquals(
                ImmutableList.of("two"), messages(store.events(all.getFirst().id(), 1)));
    }

    @Test
    void trimmingKeepsTheNewestEventsAndNeverReusesAnId() {
        StateStore store = store();
        store.commit(Samples.events(AGENT, "1", "2", "3", "4"));
        long last = store.events(0, 10).getLast().id();

        store.trimEvents(2, Samples.NOON);
        assertEquals(ImmutableList.of("3", "4"), messages(store.events(0, 10)));
        store.trimEvents(5, Samples.NOON);
        assertEquals(2, store.events(0, 10).size());

        store.trimEvents(0, Samples.NOON);
        assertEquals(ImmutableList.of(), store.events(0, 10));
        store.commit(Samples.events(AGENT, "5"));
        assertTrue(store.events(0, 10).getFirst().id() > last);
    }

    @Test
    void retryingDropsFailuresButNotWhatWasLearned() {
        StateStore store = store();
        store.commit(Samples.history(AGENT, Samples.eventful()));

        store.retryNow(ImmutableList.of(AGENT, WorkloadId.plugin("unknown")));

        WorkloadHistory after = store.history(AGENT);
        Reported told = Reported.of(Samples.eventful().attempts().reported().revision());
        assertEquals(Attempts.of("h1").withRestartToConfigure(true).withReported(told), after.attempts());
        assertEquals(Samples.eventful().failed(), after.failed());
        assertEquals(Samples.eventful().run().crashes().forgiven(), after.run().crashes());
        assertEquals(0, after.run().crashes().count());
        assertEquals(Samples.eventful().run().restarts(), after.run().restarts());
        assertEquals(ImmutableSet.of(AGENT), store.histories().keySet());
    }

    @Test
    void theSeedIsAlwaysTheSame() {
        StateStore store = store();

        assertEquals(store.seed(), store.seed());
    }

    private static Instance launchedAt(String launchId, String time) {
        Instance like = Samples.instance(AGENT, launchId);
        return new Instance(
                launchId,
                AGENT,
                like.target(),
                like.revision(),
                like.directory(),
                like.inputs(),
                Instant.parse(time),
                like.identity(),
                like.phase(),
                like.configHash());
    }

    private static long generation(StateStore store) {
        return store.declarations().getFirst().generation();
    }

    private static ImmutableSet<String> appliedNames(StateStore store) {
        return store.declarations().stream()
                .map(document -> document.workload().id().name())
                .collect(ImmutableSet.toImmutableSet());
    }

    private static ImmutableList<String> messages(ImmutableList<StoredEvent> events) {
        return events.stream().map(stored -> stored.event().message()).collect(ImmutableList.toImmutableList());
    }
}
