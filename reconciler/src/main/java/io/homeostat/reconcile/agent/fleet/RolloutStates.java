package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.SetSelection;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The states of rollouts that this machine has heard last, in the store, and once in memory for all sources. Whoever writes the states needs no
 * key: together they are bounded, whatever the store has.
 */
final class RolloutStates {
    private static final Logger LOG = LoggerFactory.getLogger(RolloutStates.class);

    private final StateStore store;
    private @Nullable ImmutableMap<String, RolloutState> states;

    /** Why a state was left out the last time, by the name of the rollout. */
    private Map<String, String> leftBefore = Map.of();

    RolloutStates(StateStore store) {
        this.store = store;
    }

    /**
     * Returns the states by the names of the rollouts. The first call reads them from the store, and deletes there what is beyond the
     * bounds, which an earlier version may have stored.
     *
     * @throws StoreException when that fails
     */
    synchronized ImmutableMap<String, RolloutState> now() {
        ImmutableMap<String, RolloutState> known = states;
        if (known == null) {
            ImmutableSortedMap<String, String> stored = store.rolloutStates();
            Kept kept = new Kept();
            stored.forEach(kept::add);
            known = kept.keep(stored);
        }
        return known;
    }

    /**
     * Stores how rollouts stand now. What can't be read, and what is gone though a set still has its rollout, stays as it was heard last: a
     * store that has lost it must not have all machines go back.
     *
     * @param told the states as JSON by the names of the rollouts
     * @param published the names of the rollouts that sets have
     * @throws StoreException when that fails; nothing has changed then
     */
    synchronized void heard(ImmutableSortedMap<String, String> told, ImmutableSet<String> published) {
        ImmutableSortedMap<String, String> before = store.rolloutStates();
        Kept next = new Kept();
        told.forEach(next::add);
        before.forEach((name, state) -> {
            if (!next.texts.containsKey(name) && (told.containsKey(name) || published.contains(name))) {
                next.add(name, state);
            }
        });
        next.keep(before);
    }

    /** The states that are kept, within the bounds: those that are added first go before. */
    private final class Kept {
        final TreeMap<String, String> texts = new TreeMap<>();
        private final ImmutableMap.Builder<String, RolloutState> read = ImmutableMap.builder();
        private final TreeMap<String, String> left = new TreeMap<>();
        private long room = EtcdFollower.MOST_KEPT;

        void add(String name, String text) {
            long size = (long) name.length() + text.length() + Entry.OVERHEAD;
            try {
                RolloutState state = SetSelection.parsed(text);
                if (size > room) {
                    throw new IllegalArgumentException("all of them are too much");
                }
                room -= size;
                texts.put(name, text);
                read.put(name, state);
            } catch (IllegalArgumentException e) {
                left.put(name, String.valueOf(e.getMessage()));
            }
        }

        ImmutableMap<String, RolloutState> keep(ImmutableSortedMap<String, String> stored) {
            boolean isNews = !left.equals(leftBefore);
            leftBefore = left;
            if (isNews && !left.isEmpty()) {
                LOG.warn(
                        "how {} rollouts stand is left out, such as {}: {}; delete below PREFIX/rollouts/ what is no rollout,"
                                + " or of a newer version, and rollouts that are over",
                        left.size(),
                        BriefText.of(left.firstKey()),
                        BriefText.of(left.firstEntry().getValue()));
            }
            if (!texts.equals(stored)) {
                store.storeRolloutStates(ImmutableSortedMap.copyOfSorted(texts));
            }
            ImmutableMap<String, RolloutState> kept = read.buildOrThrow();
            ImmutableMap<String, RolloutState> known = states;
            if (known != null && known.equals(kept)) {
                // Sources may have these, so there would be two of each.
                return known;
            }
            states = kept;
            return kept;
        }
    }
}
