package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.TrustedKeys;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A controller does not go by a set that is older than one that a controller has taken, as no machine would. */
class OlderSetTest {
    private static final Instant NOON = Instant.parse("2026-11-01T12:00:00Z");

    private final FleetKeys keys = new FleetKeys("/fleet");
    private final MemoryKeyValues etcd = new MemoryKeyValues(() -> 0);
    private final KeyValues client = etcd.new Client(() -> false, () -> false);

    private final class Replica {
        final FleetMirror mirror = new FleetMirror(
                keys,
                new PublishedRollouts(new SetReader(
                        new AgentConfig.SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE)));
        final long lease = etcd.grant(Duration.ofDays(1));
        final FleetLeader leader = new FleetLeader(
                client,
                keys,
                mirror,
                etcd.campaign(keys.leader(), lease, "one").orElseThrow(),
                () -> NOON,
                FleetPlanner::plan);

        /** Goes by what there is, then another one may lead. */
        Replica decide() throws Exception {
            leader.look();
            leader.decide();
            etcd.revoke(lease);
            return this;
        }
    }

    private static String documents(String rollout) {
        return PublishedRolloutsTest.SET.replace("web-2", rollout);
    }

    private void publish(long sequence, String rollout) throws Exception {
        SetFile set = SetFile.of(
                "default", sequence, NOON, ImmutableSortedMap.of("web.yaml", documents(rollout)), Optional.empty());
        publish(ByteString.copyFrom(set.bytes()));
    }

    private void publish(ByteString set) throws Exception {
        client.commit(
                ImmutableList.of(), ImmutableList.of(new KeyValues.Write.Put(keys.set(), set, KeyValues.NO_LEASE)));
    }

    private ImmutableSet<String> decided() {
        return ImmutableSet.copyOf(etcd.list(keys.rollouts()).entries().keySet());
    }

    @Test
    void theNextControllerRefusesItToo() throws Exception {
        publish(7, "new");
        new Replica().decide();
        assertEquals(ImmutableSet.of(keys.rollout("new")), decided());

        publish(6, "old");
        FleetMirror mirror = new Replica().decide().mirror;
        assertTrue(mirror.problems().getOrDefault(keys.set(), "").contains(" 6, and 7 "));
        assertEquals(ImmutableSet.of(keys.rollout("new")), decided(), "nothing begins");

        publish(7, "another");
        assertTrue(new Replica().decide().mirror.problems().containsKey(keys.set()));

        publish(8, "next");
        mirror = new Replica().decide().mirror;
        assertTrue(mirror.problems().isEmpty(), mirror.problems()::toString);
        assertEquals(ImmutableSet.of(keys.rollout("new"), keys.rollout("next")), decided());
    }

    @Test
    void theLastSetStaysInForceMeanwhile() throws Exception {
        publish(7, "new");
        Replica replica = new Replica();
        replica.leader.look();
        replica.leader.decide();

        publish(6, "old");
        replica.decide();

        assertEquals(ImmutableSortedSet.of("new"), replica.mirror.rollouts());
    }

    @Test
    void whatSomebodyHasRemovedIsWrittenAgain() throws Exception {
        publish(7, "new");
        Replica replica = new Replica();
        replica.leader.look();
        replica.leader.decide();
        client.commit(ImmutableList.of(), ImmutableList.of(new KeyValues.Write.Delete(keys.newest())));

        publish(8, "next");
        replica.leader.look();
        assertNotEquals(Optional.of(NOON), replica.leader.decide(), "it need not look at once again");
        assertTrue(etcd.find(keys.newest()).isPresent());

        etcd.revoke(replica.lease);
        publish(6, "old");
        assertFalse(new Replica().decide().mirror.problems().isEmpty(), "8 still counts");
    }

    @Test
    void whatHasNoSequenceIsTaken() throws Exception {
        publish(7, "new");
        new Replica().decide();

        publish(ByteString.copyFromUtf8(documents("plain")));

        assertTrue(new Replica().decide().mirror.problems().isEmpty());
        assertTrue(decided().contains(keys.rollout("plain")));
        publish(6, "old");
        assertFalse(new Replica().decide().mirror.problems().isEmpty(), "7 still counts");
    }

    @Test
    void whatAnotherOneHasWrittenMeanwhileIsNotTheLastWord() throws Exception {
        publish(7, "new");
        Replica replica = new Replica();
        replica.leader.look();
        etcd.put(keys.newest(), "{\"sets\":[{\"signer\":\"\",\"sequence\":3,\"digest\":\"d\"}]}", KeyValues.NO_LEASE);

        replica.leader.decide();

        String newest = etcd.find(keys.newest()).map(Entry::value).orElseThrow().toStringUtf8();
        assertTrue(newest.contains("\"sequence\":7"), newest);
        assertEquals(ImmutableSet.of(keys.rollout("new")), decided());
    }

    @ParameterizedTest
    @MethodSource("unreadable")
    void whatCannotBeReadIsLeftAlone(String unreadable) throws Exception {
        etcd.put(keys.newest(), unreadable, KeyValues.NO_LEASE);
        publish(7, "new");

        FleetMirror mirror = new Replica().decide().mirror;

        assertTrue(mirror.problems().containsKey(keys.newest()));
        assertEquals(
                unreadable,
                etcd.find(keys.newest()).map(Entry::value).orElseThrow().toStringUtf8());
        assertEquals(ImmutableSet.of(keys.rollout("new")), decided());
    }

    /** The last two grow with each signer, until etcd would refuse them. */
    private static Stream<String> unreadable() {
        return Stream.of(
                "[",
                "{\"sets\":[" + "{},".repeat(250) + "{}]}",
                "{\"sets\":[{\"signer\":\"" + "s".repeat(257) + "\"}]}");
    }
}
