package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Leadership;
import io.homeostat.desired.etcd.KeyValues.Watching;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.reconcile.fleet.FleetLeader.LeadershipLost;
import io.homeostat.reconcile.fleet.FleetMirror.SetContents;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What {@link FleetController} does with threads, step by step: the leader in it, and its mirror, are the real ones. */
final class SimulatedController implements KeyValues.Listener {
    private static final Duration TIME_TO_LIVE = Duration.ofSeconds(10);
    private static final Duration RESYNC = Duration.ofMinutes(5);

    private final FleetKeys keys;
    private final SetContents contents;
    private final String name;
    private final InstantSource time;
    private final Function<RolloutSituation, RolloutPlan> planner;
    private final MemoryKeyValues.Client store;

    boolean isCutOff;
    boolean losesAnswers;
    /** Does nothing at all, and does not know that time passes. */
    boolean isFrozen;
    /** Is told of no change, while all else works. */
    boolean isDeaf;

    Duration clockIsOffBy = Duration.ZERO;

    private boolean stoodStill;
    private long lease;
    private @Nullable Instant renewed;
    private @Nullable FleetLeader leader;
    private @Nullable FleetMirror mirror;
    private @Nullable Watching watching;
    private @Nullable Instant next;
    private Instant resync = Instant.MIN;
    private @Nullable Instant leadsSince;

    SimulatedController(
            MemoryKeyValues etcd,
            FleetKeys keys,
            SetContents contents,
            String name,
            InstantSource time,
            Function<RolloutSituation, RolloutPlan> planner) {
        this.keys = keys;
        this.contents = contents;
        this.name = name;
        this.time = time;
        this.planner = planner;
        store = etcd.new Client(() -> isCutOff, () -> losesAnswers);
    }

    /** Since when it leads, and nothing holds it up; empty when it does not. */
    Optional<Instant> leadsSince() {
        return isFrozen || isCutOff || isDeaf || losesAnswers ? Optional.empty() : Optional.ofNullable(leadsSince);
    }

    /** What was held up counts from now. */
    void heal() {
        isCutOff = false;
        losesAnswers = false;
        isFrozen = false;
        isDeaf = false;
        if (leadsSince != null) {
            leadsSince = time.instant();
        }
    }

    /** Ends without a word, and begins anew: its lease is left to run out. */
    void die() {
        stopLeading();
        lease = 0;
        renewed = null;
    }

    void step() throws InterruptedException {
        if (isFrozen) {
            stoodStill = true;
            return;
        }
        try {
            // One that stood still decides before it hears of anything, and before it finds out that its lease is over.
            if (!isDeaf && !stoodStill) {
                store.tell();
            }
            stoodStill = false;
            decide();
            keepLease();
            if (leader == null) {
                Leadership leadership = store.campaign(keys.leader(), lease, name);
                FleetMirror fresh = new FleetMirror(keys, contents);
                mirror = fresh;
                leader = new FleetLeader(
                        store, keys, fresh, leadership, () -> time.instant().plus(clockIsOffBy), this::plan);
                leadsSince = time.instant();
                look(leader, fresh);
            }
            if (time.instant().isAfter(resync) && mirror != null && leader != null) {
                look(leader, mirror);
            }
        } catch (KeyValuesException | LeadershipLost e) {
            stopLeading();
        }
    }

    private void decide() throws KeyValuesException, LeadershipLost, InterruptedException {
        if (leader != null && next != null && !time.instant().plus(clockIsOffBy).isBefore(next)) {
            next = null;
            next = leader.decide().orElse(Instant.MAX);
        }
    }

    /** A leader goes on after a defect; a simulation does not. */
    private RolloutPlan plan(RolloutSituation situation) {
        try {
            return planner.apply(situation);
        } catch (RuntimeException e) {
            throw new AssertionError("the planner has failed", e);
        }
    }

    private void keepLease() throws KeyValuesException {
        Instant now = time.instant();
        if (renewed == null) {
            lease = store.grant(TIME_TO_LIVE);
            renewed = now;
        } else if (renewed.plusSeconds(3).isBefore(now)) {
            if (!store.renew(lease)) {
                renewed = null;
                throw new KeyValuesException(KeyValuesException.Kind.FAILED, "the lease is over", null);
            }
            renewed = now;
        }
    }

    private void look(FleetLeader by, FleetMirror into) throws KeyValuesException, InterruptedException {
        by.look();
        if (watching != null) {
            watching.close();
        }
        watching = store.watch(keys.prefix() + "/", into.revision(), this);
        next = Instant.MIN;
        resync = time.instant().plus(RESYNC);
    }

    private void stopLeading() {
        store.close();
        leader = null;
        mirror = null;
        watching = null;
        next = null;
        leadsSince = null;
    }

    @Override
    public void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision) {
        if (mirror != null) {
            mirror.change(put, deleted, revision);
            next = Instant.MIN;
        }
    }

    @Override
    public void ended(KeyValuesException failure) {
        resync = Instant.MIN;
    }
}
