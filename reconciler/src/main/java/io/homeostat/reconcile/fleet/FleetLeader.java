package io.homeostat.reconcile.fleet;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.base.CaseFormat;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Condition;
import io.homeostat.desired.etcd.KeyValues.Leadership;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.NewestSets;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.fleet.FleetMirror.Newest;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides and writes down, for as long as it leads. Each write is under the condition that it leads and that nobody has written since it
 * looked, so that of two who believe to lead only one can write, and neither undoes what it has not seen.
 */
final class FleetLeader {
    private static final Logger LOG = LoggerFactory.getLogger(FleetLeader.class);
    /** What others write in between is seen by the next look, and there is one after each change. */
    private static final int LOOKS = 3;

    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(1));

    private final KeyValues store;
    private final FleetKeys keys;
    private final FleetMirror mirror;
    private final Leadership leadership;
    private final InstantSource clock;
    private final Function<RolloutSituation, RolloutPlan> planner;
    private final RecordCodec codec = new RecordCodec(new JsonMapper());
    /** The failures that were not followed by a success, by key. */
    private final Map<String, Failures> failures = new HashMap<>();

    FleetLeader(
            KeyValues store,
            FleetKeys keys,
            FleetMirror mirror,
            Leadership leadership,
            InstantSource clock,
            Function<RolloutSituation, RolloutPlan> planner) {
        this.store = store;
        this.keys = keys;
        this.mirror = mirror;
        this.leadership = leadership;
        this.clock = clock;
        this.planner = planner;
    }

    /** Looks at all there is. */
    void look() throws KeyValuesException, InterruptedException {
        mirror.replace(mirror.list(store));
    }

    /**
     * Decides about all rollouts. What lets more machines in is decided once more on a look of its own: what is told of changes may be late.
     * A rollout that can't be decided, or whose state etcd refuses, is tried again later, and holds up no other.
     *
     * @return when time alone may change something
     */
    Optional<Instant> decide() throws KeyValuesException, InterruptedException, LeadershipLost {
        for (int looks = 0; looks < LOOKS; looks++) {
            boolean isFresh = looks > 0;
            ImmutableList.Builder<Instant> later = ImmutableList.builder();
            boolean looksAgain = !isDone(keys.newest(), this::writeNewest, later);
            for (RolloutSituation situation : mirror.situations(clock.instant())) {
                looksAgain |= !isDone(
                        keys.rollout(situation.rollout().name()), () -> decide(situation, isFresh, later), later);
            }
            if (!looksAgain) {
                return later.build().stream().min(Comparator.naturalOrder());
            }
            look();
        }
        return Optional.of(clock.instant());
    }

    /** Decides what one key is to say, and writes it. */
    private interface Decision {
        /** Returns false when that is for the next look. */
        boolean make() throws KeyValuesException, InterruptedException, LeadershipLost;
    }

    /** Failures of one key in a row, and when it is tried again. */
    private record Failures(int count, Instant until) {}

    /**
     * Returns whether there is nothing left to do for a key, also because it has failed just now. An etcd that refuses everything does not
     * renew the lease either, which ends the lead.
     */
    private boolean isDone(String key, Decision decision, ImmutableList.Builder<Instant> later)
            throws KeyValuesException, InterruptedException, LeadershipLost {
        Failures before = failures.getOrDefault(key, new Failures(0, Instant.MIN));
        if (clock.instant().isBefore(before.until())) {
            later.add(before.until());
            return true;
        }
        try {
            boolean done = decision.make();
            if (done) {
                failures.remove(key);
            }
            return done;
        } catch (KeyValuesException e) {
            switch (e.kind()) {
                case FAILED, EXHAUSTED -> later.add(failed(key, before, String.valueOf(e.getMessage()), null));
                case UNAVAILABLE, DENIED, COMPACTED -> throw e;
            }
        } catch (RuntimeException e) {
            later.add(failed(key, before, "a defect of homeostat: " + e, e));
        }
        return true;
    }

    /** Returns when it is tried again. */
    private Instant failed(String key, Failures before, String why, @Nullable RuntimeException defect) {
        int count = before.count() + 1;
        Duration delay = BACKOFF.bound(count);
        Instant until = clock.instant().plus(delay);
        failures.put(key, new Failures(count, until));
        LOG.warn(
                "{} is left as it is: {}; it is tried again in {}, and all else goes on",
                key,
                why,
                Notation.text(delay),
                defect);
        return until;
    }

    private boolean decide(RolloutSituation situation, boolean isFresh, ImmutableList.Builder<Instant> later)
            throws KeyValuesException, InterruptedException, LeadershipLost {
        RolloutPlan plan = planner.apply(situation);
        plan.lookAgain().ifPresent(later::add);
        return plan.state().equals(situation.state())
                || ((isFresh || !lets(situation.state(), plan.state())) && write(situation, plan.state()));
    }

    private static boolean lets(@Nullable RolloutState before, RolloutState after) {
        return before == null
                || !before.digest().equals(after.digest())
                || after.through().compareTo(before.through()) > 0
                || after.asOf() > before.asOf();
    }

    /** Has the next controller know it, too. False when somebody else has written in between. */
    private boolean writeNewest() throws KeyValuesException, InterruptedException, LeadershipLost {
        Newest newest = mirror.newest();
        // What can't be read is left alone.
        if (newest.isWritten() || mirror.problems().containsKey(keys.newest())) {
            return true;
        }
        OptionalLong revision = put(keys.newest(), newest.modified(), new NewestSets(newest.sets()));
        revision.ifPresent(written -> mirror.wroteNewest(newest.sets(), written));
        return revision.isPresent();
    }

    /** False when somebody else has written in between. */
    private boolean write(RolloutSituation situation, RolloutState state)
            throws KeyValuesException, InterruptedException, LeadershipLost {
        String name = situation.rollout().name();
        OptionalLong revision = put(keys.rollout(name), situation.stateRevision(), state);
        if (revision.isEmpty()) {
            return false;
        }
        mirror.wrote(name, state, revision.getAsLong());
        if (isWorthTelling(situation.state(), state)) {
            LOG.info(
                    "rollout {}: {} at wave {}/{}: {}; machines let in: {}",
                    name,
                    CaseFormat.UPPER_UNDERSCORE.to(
                            CaseFormat.LOWER_CAMEL, state.phase().name()),
                    state.wave() + 1,
                    situation.rollout().spec().waves().size(),
                    state.reason(),
                    state.machines());
        }
        return true;
    }

    /** Empty when somebody else has written in between. */
    private OptionalLong put(String key, long modified, Record value)
            throws KeyValuesException, InterruptedException, LeadershipLost {
        OptionalLong revision = store.commit(
                ImmutableList.of(leadership.holds(), new Condition.ModifiedIn(key, modified)),
                ImmutableList.of(new Write.Put(key, ByteString.copyFromUtf8(codec.write(value)), KeyValues.NO_LEASE)));
        if (revision.isEmpty()
                && store.commit(ImmutableList.of(leadership.holds()), ImmutableList.of())
                        .isEmpty()) {
            throw new LeadershipLost();
        }
        return revision;
    }

    private static boolean isWorthTelling(@Nullable RolloutState before, RolloutState after) {
        return before == null
                || before.phase() != after.phase()
                || before.wave() != after.wave()
                || !Objects.equals(before.digest(), after.digest());
    }

    /** Somebody else may lead now. */
    static final class LeadershipLost extends Exception {
        private static final long serialVersionUID = 1L;

        LeadershipLost() {
            super("somebody else leads, or may do so soon");
        }
    }
}
