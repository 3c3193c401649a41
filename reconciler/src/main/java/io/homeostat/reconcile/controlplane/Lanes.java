package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Outbox.Queued;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Which event is whose turn: of each plugin one at a time, in order, and of all plugins together no more than a window. Used by one
 * thread.
 */
final class Lanes {
    private final int window;
    private final Map<WorkloadId, Deque<Queued>> waiting = new HashMap<>();
    /** Plugins with something to be sent and nothing under way, those that waited longest first. */
    private final Set<WorkloadId> ready = new LinkedHashSet<>();

    private final Map<WorkloadId, Queued> flying = new HashMap<>();

    Lanes(int window) {
        this.window = window;
    }

    /** Exchanges what waits; what is under way stays so. */
    void refill(Collection<Queued> queued) {
        waiting.clear();
        for (Queued one : queued) {
            if (!one.equals(flying.get(one.plugin()))) {
                waiting.computeIfAbsent(one.plugin(), _ -> new ArrayDeque<>()).add(one);
            }
        }
        ready.retainAll(waiting.keySet());
        for (WorkloadId plugin : waiting.keySet()) {
            if (!flying.containsKey(plugin)) {
                ready.add(plugin);
            }
        }
    }

    /** Takes what is to be sent next; it is under way until it has {@link #landed}. */
    Optional<Queued> next() {
        Iterator<WorkloadId> first = ready.iterator();
        if (isWindowFull() || !first.hasNext()) {
            return Optional.empty();
        }
        WorkloadId plugin = first.next();
        first.remove();
        Queued one = Objects.requireNonNull(waiting.get(plugin)).removeFirst();
        flying.put(plugin, one);
        return Optional.of(one);
    }

    /**
     * It is over, whatever came of it; the next one of its plugin may go.
     *
     * @return whether no more is known of its plugin
     */
    boolean landed(Queued one) {
        flying.remove(one.plugin(), one);
        Deque<Queued> behind = waiting.get(one.plugin());
        if (behind == null || behind.isEmpty()) {
            waiting.remove(one.plugin());
            return true;
        }
        ready.add(one.plugin());
        return false;
    }

    /** It is to be sent again, before all others of its plugin. */
    void again(Queued one) {
        if (flying.remove(one.plugin(), one)) {
            waiting.computeIfAbsent(one.plugin(), _ -> new ArrayDeque<>()).addFirst(one);
            ready.add(one.plugin());
        }
    }

    boolean isWindowFull() {
        return flying.size() >= window;
    }
}
