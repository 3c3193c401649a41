package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.plan.Relations.Need;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Whether workloads are well, or become so by themselves, by what is remembered at one moment of them and of all that they wait for. Each
 * is judged once, however many wait for it. For use by several threads.
 */
final class Prospects {
    private final DependencyGraph graph;
    private final HostFacts host;
    private final Function<WorkloadId, Remembered> memory;
    private final Predicate<WorkloadId> changing;
    private final Map<WorkloadId, Remembered> remembered = Collections.synchronizedMap(new HashMap<>());
    private final Map<WorkloadId, Prospect> judged = Collections.synchronizedMap(new HashMap<>());
    private final Map<Map.Entry<String, String>, ImmutableList<Need>> down =
            Collections.synchronizedMap(new HashMap<>());

    /**
     * @param stuck whether it, or anything that it has to wait for, does not become well by itself as far as is known
     * @param held the nearest of it and those that it waits for that somebody has stopped or left alone; null when there is none
     * @param distance to that
     */
    private record Prospect(
            boolean well, boolean stuck, @Nullable WorkloadId held, int distance) {
        static final Prospect WELL = new Prospect(true, false, null, 0);
    }

    Prospects(
            DependencyGraph graph,
            HostFacts host,
            Function<WorkloadId, Remembered> memory,
            Predicate<WorkloadId> changing) {
        this.graph = graph;
        this.host = host;
        this.memory = memory;
        this.changing = changing;
    }

    /** Without a lock while it is asked: it may take its time, and others are asked about meanwhile. */
    Remembered remembered(WorkloadId id) {
        Remembered known = remembered.get(id);
        if (known != null) {
            return known;
        }
        Remembered read = memory.apply(id);
        Remembered other = remembered.putIfAbsent(id, read);
        return other == null ? read : other;
    }

    /** See {@link DependencyGraph#isWell}. */
    boolean isWell(WorkloadId id) {
        Prospect known = judged.get(id);
        return known == null ? graph.isWell(id, host, remembered(id)) : known.well();
    }

    Need.State state(WorkloadId id) {
        if (graph.desired().get(id).isEmpty()) {
            return Need.State.UNDECLARED;
        }
        Prospect prospect = judge(id);
        if (prospect.well()) {
            return Need.State.WELL;
        }
        return prospect.stuck() ? Need.State.STUCK : Need.State.COMING;
    }

    Need need(WorkloadId id) {
        Need.State state = state(id);
        return new Need(id, state, state == Need.State.STUCK ? whoHoldsIt(id) : "");
    }

    /** See {@link DependencyGraph#down(Map.Entry, Prospects, Predicate)}; the same for all of a group. */
    ImmutableList<Need> down(Map.Entry<String, String> label) {
        ImmutableList<Need> known = down.get(label);
        if (known != null) {
            return known;
        }
        ImmutableList<Need> found = graph.down(label, this, changing);
        down.put(label, found);
        return found;
    }

    /** How far one has come that is not to count as well, whatever is remembered of it. */
    Need comingOrStuck(WorkloadId id) {
        return new Need(id, judge(id).stuck() ? Need.State.STUCK : Need.State.COMING);
    }

    /** Somebody's wish that it, or what it waits for, be stopped or left alone; empty when nobody has one. */
    private String whoHoldsIt(WorkloadId id) {
        WorkloadId held = judge(id).held();
        return held == null
                ? ""
                : (held.equals(id) ? "it" : held.toString()) + " is "
                        + (DependencyGraph.isStopped(remembered(held)) ? "stopped by request" : "paused");
    }

    /** On its way from one that waits to what that waits for. */
    private static final class Visit {
        private final WorkloadId id;
        private final Iterator<WorkloadId> rest;
        private Prospect prospect;

        Visit(WorkloadId id, Prospect alone, Iterator<WorkloadId> rest) {
            this.id = id;
            this.prospect = alone;
            this.rest = rest;
        }

        void add(Prospect needed) {
            WorkloadId held = needed.held();
            boolean nearer = held != null && (prospect.held() == null || needed.distance() + 1 < prospect.distance());
            prospect = new Prospect(
                    false,
                    prospect.stuck() || needed.stuck(),
                    nearer ? held : prospect.held(),
                    nearer ? needed.distance() + 1 : prospect.distance());
        }
    }

    /** Not by recursion: a chain of dependencies may be longer than the stack of a thread. */
    private Prospect judge(WorkloadId start) {
        Prospect before = judged.get(start);
        if (before != null) {
            return before;
        }
        Deque<Visit> path = new ArrayDeque<>();
        path.push(visit(start));
        while (!path.isEmpty()) {
            Visit at = path.element();
            if (!at.rest.hasNext()) {
                judged.put(at.id, at.prospect);
                path.pop();
                if (!path.isEmpty()) {
                    path.element().add(at.prospect);
                }
                continue;
            }
            WorkloadId next = at.rest.next();
            Prospect known = judged.get(next);
            if (known == null) {
                path.push(visit(next));
            } else {
                at.add(known);
            }
        }
        return Objects.requireNonNull(judged.get(start));
    }

    /** What holds one, and what runs in a circle, is reason enough: nobody looks at what is behind it. */
    private Visit visit(WorkloadId id) {
        Remembered neighbour = remembered(id);
        Prospect alone;
        boolean last = true;
        if (graph.isWell(id, host, neighbour)) {
            alone = Prospect.WELL;
        } else if (neighbour.pause() != null) {
            alone = new Prospect(false, true, id, 0);
        } else {
            alone = new Prospect(false, graph.isStuck(id, neighbour), null, 0);
            last = graph.isInCycle(id);
        }
        return new Visit(
                id, alone, last ? Collections.emptyIterator() : graph.needs(id).iterator());
    }
}
