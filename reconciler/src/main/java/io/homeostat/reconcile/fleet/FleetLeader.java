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
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.fleet.FleetMirror.Newest;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
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

    private final KeyValues store;
    private final FleetKeys keys;
    private final FleetMirror mirror;
    private final Leadership leadership;
    private final InstantSource clock;
    private final Function<RolloutSituation, RolloutPlan> planner;
    private final RecordCodec codec = new RecordCodec(new JsonMapper());

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
        mirror.replace(store.list(keys.prefix() + "/"));
    }

    /**
     * Decides about all rollouts. What lets more machines in is decided once more on a look of its own: what is told of changes may be late.
     *
     * @return when time alone may change something
     */
    Optional<Instant> decide() throws KeyValuesException, InterruptedException, LeadershipLost {
        boolean isFresh = false;
        for (int looks = 0; looks < LOOKS; looks++) {
            ImmutableList.Builder<Instant> later = ImmutableList.builder();
            boolean looksAgain = !writeNewest();
            for (RolloutSituation situation : mirror.situations(clock.instant())) {
                RolloutPlan plan = planner.apply(situation);
                plan.lookAgain().ifPresent(later::add);
                if (!plan.state().equals(situation.state())) {
                    looksAgain |=
                            (lets(situation.state(), plan.state()) && !isFresh) || !write(situation, plan.state());
                }
            }
            if (!looksAgain) {
                return later.build().stream().min(Comparator.naturalOrder());
            }
            look();
            isFresh = true;
        }
        return Optional.of(clock.instant());
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
