package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.fleet.SetSelection;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.fleet.FleetLeader.LeadershipLost;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import io.homeostat.reconcile.fleet.FleetMirror.SetContents;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a leader writes, and when it may. */
class FleetLeaderTest {
    private static final Instant NOON = Instant.parse("2026-11-01T12:00:00Z");
    private static final Duration SHORT = Duration.ofSeconds(10);
    private static final Duration LONG = Duration.ofDays(1);

    private final FleetKeys keys = new FleetKeys("/fleet");
    private final RecordCodec codec = new RecordCodec(new JsonMapper());
    private final Rollout rollout = new Fleet(0, "1 50% 100%").rollout();
    private final MemoryKeyValues etcd = new MemoryKeyValues(() -> this.millis);
    private long millis;
    private boolean losesAnswers;
    private ImmutableList<Highest> newest = ImmutableList.of();
    private ImmutableList<Rollout> published = ImmutableList.of(rollout);
    private UnaryOperator<RolloutSituation> met = situation -> situation;
    private RuntimeException unreadable = new IllegalArgumentException("not signed");

    private final class Replica {
        final FleetMirror mirror = new FleetMirror(keys, new SetContents() {
            @Override
            public ImmutableList<Scope> rollouts(ByteString set) {
                if (!set.toStringUtf8().equals("set")) {
                    throw unreadable;
                }
                return published.stream()
                        .map(each -> new Scope(each, labels -> !labels.containsKey("other")))
                        .collect(ImmutableList.toImmutableList());
            }

            @Override
            public ImmutableList<Highest> newest(ByteString set, ImmutableList<Highest> before) {
                return newest;
            }
        });
        final FleetLeader leader;

        Replica(String name, Duration timeToLive) {
            leader = new FleetLeader(
                    etcd.new Client(() -> false, () -> losesAnswers),
                    keys,
                    mirror,
                    etcd.campaign(keys.leader(), etcd.grant(timeToLive), name).orElseThrow(),
                    () -> NOON.plusMillis(millis),
                    situation -> FleetPlanner.plan(met.apply(situation)));
        }

        Optional<Instant> lookAndDecide() throws Exception {
            leader.look();
            return leader.decide();
        }
    }

    @BeforeEach
    void publish() {
        etcd.put(keys.set(), "set", KeyValues.NO_LEASE);
        for (int i = 0; i < 10; i++) {
            register("vm-" + i, ImmutableSortedMap.of());
        }
    }

    private void register(String id, ImmutableSortedMap<String, String> labels) {
        etcd.put(keys.machine(id), codec.write(new MachineRegistration(labels, NOON)), KeyValues.NO_LEASE);
    }

    private void report(String id, String failed) {
        report(id, "2", failed);
    }

    private void report(String id, String desired, String failed) {
        String there = failed.isEmpty() ? "2" : "1";
        etcd.put(
                keys.report(id),
                codec.write(new MachineReport(
                        "1",
                        NOON,
                        "etcd",
                        "1",
                        1,
                        0,
                        ImmutableList.of(new ReportedWorkload(
                                Fleet.WORKLOAD, there, desired, failed, "", true, true, false, false, 0, "")))),
                KeyValues.NO_LEASE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"reports/vm-1", "machines/vm-1", "orders/web", "rollouts/other", "newest"})
    void aTextThatIsNestedTooDeepIsAMatterOfItsKey(String key) throws Exception {
        Replica replica = new Replica("one", LONG);
        etcd.put("/fleet/" + key, "{\"later\":" + "[".repeat(1_001), KeyValues.NO_LEASE);

        replica.lookAndDecide();

        assertEquals(ImmutableSet.of("/fleet/" + key), replica.mirror.problems().keySet());
        assertTrue(
                String.valueOf(replica.mirror.problems().get("/fleet/" + key))
                        .startsWith("can't be read: no JSON that can be read: "),
                () -> replica.mirror.problems().toString());
        assertEquals(0, state().wave(), "the rollout goes on");
    }

    @Test
    void aSetThatCanNotBeReadByADefectOfOursStopsNothingElse() throws Exception {
        Replica replica = new Replica("one", LONG);
        replica.lookAndDecide();
        unreadable = new IllegalStateException("a defect");
        etcd.put(keys.set(), "another", KeyValues.NO_LEASE);

        replica.lookAndDecide();

        assertEquals(
                ImmutableMap.of(
                        keys.set(),
                        "can't be read: reading it failed unexpectedly: java.lang.IllegalStateException: a defect"),
                replica.mirror.problems());
        assertEquals(ImmutableSet.of("web"), replica.mirror.rollouts());
    }

    private RolloutState state() {
        return codec.read(
                RolloutState.class,
                etcd.find(keys.rollout("web")).orElseThrow().value().toStringUtf8());
    }

    private String canary() {
        return etcd.list(keys.machines()).entries().values().stream()
                .filter(entry -> state().admits(
                                rollout, entry.key().substring(keys.machines().length()), entry.modified()))
                .map(entry -> entry.key().substring(keys.machines().length()))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void itWritesWhatItDecidesAndNothingWhenNothingChanges() throws Exception {
        Replica only = new Replica("only", LONG);

        assertEquals(Optional.of(NOON.plus(rollout.spec().timeout())), only.lookAndDecide());
        assertEquals(1, state().machines());
        long revision = etcd.list("/").revision();
        only.leader.decide();
        assertEquals(revision, etcd.list("/").revision());
    }

    @Test
    void whoHasLostItsLeaseWithoutKnowingWritesNothing() throws Exception {
        Replica first = new Replica("first", SHORT);
        first.lookAndDecide();
        millis += SHORT.toMillis();
        Replica second = new Replica("second", LONG);
        report(canary(), "");
        second.lookAndDecide();
        millis += rollout.spec().hold().toMillis();
        second.lookAndDecide();
        RolloutState before = state();
        assertEquals(5, before.machines());

        // It has heard of nothing, and takes the canary for one that was not well in time.
        millis += rollout.spec().timeout().toMillis();
        assertThrows(LeadershipLost.class, first.leader::decide);
        assertEquals(before, state());
    }

    @Test
    void whatSomebodyElseHasWrittenIsLookedAtFirst() throws Exception {
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        report(canary(), "");
        RolloutState paused = FleetPlanner.plan(
                        new RolloutSituation(rollout, state(), 0, null, ImmutableList.of(), 0, NOON))
                .state();
        String written = codec.write(paused).replace("PROGRESSING", "PAUSED");
        etcd.put(keys.rollout("web"), written, KeyValues.NO_LEASE);
        millis += rollout.spec().timeout().toMillis();
        only.leader.decide();

        assertEquals(Phase.PAUSED, state().phase());
    }

    @Test
    void noWaveOpensOnWhatWasTrueBefore() throws Exception {
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        String canary = canary();
        report(canary, "");
        only.lookAndDecide();
        report(canary, "2");
        millis += rollout.spec().hold().toMillis();
        only.leader.decide();

        assertEquals(Phase.HALTED, state().phase());
        assertTrue(state().reason().contains(canary), state().reason());
    }

    @Test
    void aWriteWhoseAnswerWasLostIsFoundLater() throws Exception {
        Replica only = new Replica("only", LONG);
        losesAnswers = true;
        assertThrows(KeyValuesException.class, only::lookAndDecide);
        losesAnswers = false;
        RolloutState written = state();
        only.lookAndDecide();

        assertEquals(written, state());
    }

    @Test
    void aStateThatCantBeReadIsLeftAlone() throws Exception {
        etcd.put(keys.rollout("web"), "{\"phase\": \"UNKNOWN\"}", KeyValues.NO_LEASE);
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();

        assertEquals(
                "{\"phase\": \"UNKNOWN\"}",
                etcd.find(keys.rollout("web")).orElseThrow().value().toStringUtf8());
        assertEquals(Set.of(keys.rollout("web")), only.mirror.problems().keySet());
    }

    @Test
    void aSetThatMayNotBeTakenLeavesTheLastOneInForce() throws Exception {
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        etcd.put(keys.set(), "another", KeyValues.NO_LEASE);
        only.lookAndDecide();

        assertEquals("can't be read: not signed", only.mirror.problems().get(keys.set()));
        assertEquals(List.of("web"), only.mirror.rollouts().asList());
    }

    @Test
    void aReportThatCantBeReadIsSilence() throws Exception {
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        String canary = canary();
        report(canary, "");
        etcd.put(keys.report(canary), "nonsense", KeyValues.NO_LEASE);
        only.lookAndDecide();

        assertTrue(only.mirror.report(canary).isEmpty());
        assertEquals(
                "1 of 1 machines, 1 silent",
                FleetPlanner.plan(only.mirror.situations(NOON).getFirst()).waitsFor());
    }

    @Test
    void eachDecisionIsLoggedOnce() throws Exception {
        try (HeardLog log = HeardLog.ofThisThread(FleetLeader.class)) {
            Replica only = new Replica("only", LONG);
            only.lookAndDecide();
            only.lookAndDecide();
            report(canary(), "2");
            only.lookAndDecide();

            assertLinesMatch(
                    List.of(
                            "rollout web: progressing at wave 1/3: wave 1 of 3 is open; machines let in: 1",
                            "rollout web: halted at wave 1/3: 1 of 1 .* " + canary() + ": process/web failed; .*"),
                    log.lines());
        }
    }

    @Test
    void theOneThatBeganFirstLeads() throws Exception {
        Replica first = new Replica("first", SHORT);
        first.leader.look();
        etcd.campaign(keys.leader(), etcd.grant(LONG), "second");
        first.leader.look();
        assertEquals(Optional.of("first"), first.mirror.leader());

        String led = etcd.list(keys.candidates()).entries().values().stream()
                .filter(entry -> entry.value().toStringUtf8().equals("first"))
                .map(KeyValues.Entry::key)
                .findFirst()
                .orElseThrow();
        first.mirror.change(ImmutableList.of(), ImmutableList.of(led), first.mirror.revision() + 1);
        assertEquals(Optional.of("second"), first.mirror.leader());
    }

    @Test
    void machinesThatItIsNotForAreLeftOut() throws Exception {
        register("other", ImmutableSortedMap.of("other", "yes"));
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();

        assertEquals(11, only.mirror.machines().size());
        assertEquals(10, only.mirror.situations(NOON).getFirst().members().size());
    }

    /** Nobody has counted them when the wave opened. */
    @Test
    void machinesThatGetTheirLabelsLaterWaitForTheNextWave() throws Exception {
        for (int i = 0; i < 100; i++) {
            register("other-" + i, ImmutableSortedMap.of("other", "yes"));
        }
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        for (int i = 0; i < 100; i++) {
            register("other-" + i, ImmutableSortedMap.of());
        }
        only.leader.look();

        ImmutableList<Member> members = only.mirror.situations(NOON).getFirst().members();
        assertEquals(110, members.size());
        assertEquals(
                1,
                members.stream()
                        .filter(member -> state().admits(member.place(), member.registeredAt()))
                        .count());
    }

    @Test
    void changesThatALookHasShownAlreadyAreLeftOut() throws Exception {
        Replica only = new Replica("only", LONG);
        only.leader.look();
        only.mirror.change(ImmutableList.of(), ImmutableList.of(keys.set()), only.mirror.revision());
        assertTrue(only.mirror.hasSet());

        only.mirror.change(ImmutableList.of(), ImmutableList.of(keys.set()), only.mirror.revision() + 1);
        assertTrue(!only.mirror.hasSet());
    }

    @Test
    void whatWasToldWhileAListWasReadStays() throws Exception {
        Replica only = new Replica("only", LONG);
        KeyValues.Listing before = etcd.list("/fleet/");
        only.mirror.replace(before);
        register("late", ImmutableSortedMap.of());
        KeyValues.Entry late =
                Objects.requireNonNull(etcd.list("/fleet/").entries().get(keys.machine("late")));
        only.mirror.change(ImmutableList.of(late), ImmutableList.of(), late.modified());
        only.mirror.replace(before);

        assertTrue(only.mirror.machines().containsKey("late"));
        assertEquals(late.modified(), only.mirror.revision());
    }

    @Test
    void whatAMachineSaysMakesNoStateThatMachinesRefuse() throws Exception {
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        report(canary(), "\u0001".repeat(20_000), "");
        millis += rollout.spec().timeout().toMillis();
        only.lookAndDecide();

        RolloutState halted = SetSelection.parsed(
                etcd.find(keys.rollout("web")).orElseThrow().value().toStringUtf8());
        assertEquals(Phase.HALTED, halted.phase());
        assertTrue(halted.reason().contains(Fleet.WORKLOAD + " is to be at \u0001"), halted.reason());
    }

    @Test
    void aStateThatMachinesRefuseIsNoneForControllers() throws Exception {
        Replica only = new Replica("only", LONG);
        only.lookAndDecide();
        String padded = codec.write(state()) + " ".repeat(20_000);
        etcd.put(keys.rollout("web"), padded, KeyValues.NO_LEASE);
        only.lookAndDecide();

        assertEquals(
                ImmutableMap.of(keys.rollout("web"), "can't be read: it has more than 16384 characters"),
                only.mirror.problems());
    }

    private void publishAnother() {
        published = ImmutableList.of(rollout, Rollout.of("zoo", rollout.spec()));
    }

    private boolean hasBegun(String name) {
        return etcd.find(keys.rollout(name)).isPresent();
    }

    @Test
    void aRolloutThatCannotBeDecidedHoldsUpNoOther() throws Exception {
        publishAnother();
        boolean[] isRepaired = {false};
        met = situation -> {
            if (!isRepaired[0] && situation.rollout().name().equals("web")) {
                throw new IllegalStateException("a defect");
            }
            return situation;
        };
        try (HeardLog log = HeardLog.ofThisThread(FleetLeader.class)) {
            Replica only = new Replica("only", LONG);

            assertEquals(Optional.of(NOON.plusSeconds(1)), only.lookAndDecide(), "when it is tried again");

            only.lookAndDecide();
            assertTrue(hasBegun("zoo") && !hasBegun("web"));
            String failed = "/fleet/rollouts/web is left as it is: a defect of homeostat:"
                    + " java.lang.IllegalStateException: a defect; it is tried again in ";
            assertLinesMatch(
                    List.of(failed + "1s, and all else goes on", "rollout zoo: .*"),
                    log.lines().stream().sorted().toList());
            millis += 1_000;
            only.lookAndDecide();
            assertTrue(
                    log.lines().contains(failed + "2s, and all else goes on"),
                    () -> log.lines().toString());
            isRepaired[0] = true;
            only.lookAndDecide();
            assertTrue(!hasBegun("web"), "it is not its time yet");
            millis += 2_000;
            only.lookAndDecide();
            assertTrue(hasBegun("web"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rollouts/web", "newest"})
    void whatEtcdRefusesToWriteHoldsUpNothingElse(String key) throws Exception {
        publishAnother();
        newest = ImmutableList.of(new Highest("ann", 1, "1"));
        etcd.refuse(("/fleet/" + key)::equals);
        try (HeardLog log = HeardLog.ofThisThread(FleetLeader.class)) {
            Replica only = new Replica("only", LONG);
            Optional<Instant> next = only.lookAndDecide();

            assertEquals(Optional.of(NOON.plusSeconds(1)), next);
            assertTrue(hasBegun("zoo"));
            assertTrue(
                    log.lines()
                            .contains("/fleet/" + key + " is left as it is: request is too large;"
                                    + " it is tried again in 1s, and all else goes on"),
                    () -> log.lines().toString());
            etcd.refuse(any -> false);
            millis += 1_000;
            only.lookAndDecide();
            assertTrue(etcd.find("/fleet/" + key).isPresent());
        }
    }
}
