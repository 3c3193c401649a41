package io.homeostat.desired.model;

import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.Iterables;
import com.google.common.collect.Maps;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * The cycles of a set of dependencies. Who is in one is found once, in one walk along all dependencies, however long they are; the ways
 * round are looked for when one is asked for.
 */
public final class DependencyCycles {
    /** How many workloads are looked at for the ways in a component: enough for each in a component of a hundred to have its own. */
    private static final int LOOKED_AT = 10_000;

    /** How many more for each that is in it. */
    private static final int LOOKED_AT_FOR_EACH = 10;

    private final ImmutableSetMultimap<WorkloadId, WorkloadId> needs;
    /** The strongly connected component of each workload that depends on itself, by a number. */
    private final ImmutableMap<WorkloadId, Integer> components;

    private final Supplier<ImmutableMap<WorkloadId, ImmutableList<WorkloadId>>> ways = Suppliers.memoize(this::ways);

    /** @param needs what each workload depends on */
    public DependencyCycles(ImmutableSetMultimap<WorkloadId, WorkloadId> needs) {
        this.needs = needs;
        this.components = new Walk(needs).components();
    }

    /** Returns whether a workload depends on itself, directly or by way of others. */
    public boolean contains(WorkloadId id) {
        return components.containsKey(id);
    }

    /** The workloads that depend on themselves, in the order of their dependencies. */
    public ImmutableSet<WorkloadId> members() {
        return components.keySet();
    }

    /**
     * A cycle through a workload, beginning with it, always the same one; empty when there is none. Where very many depend on each other,
     * it may be one of others of them.
     */
    public ImmutableList<WorkloadId> through(WorkloadId id) {
        return components.containsKey(id) ? Objects.requireNonNull(ways.get().get(id)) : ImmutableList.of();
    }

    /**
     * A shortest cycle is that of all that are in it, each of which has a view of it. Others of the same component may be in none of those
     * that were found before, and all of theirs may take, and keep, the square of what is there. So what is looked at has a bound, and
     * whoever then has none gets the first one of its component.
     */
    private ImmutableMap<WorkloadId, ImmutableList<WorkloadId>> ways() {
        Map<Integer, Integer> left = new HashMap<>();
        components
                .values()
                .forEach(component -> left.merge(component, LOOKED_AT, (before, _) -> before + LOOKED_AT_FOR_EACH));
        Map<Integer, ImmutableList<WorkloadId>> first = new HashMap<>();
        Map<WorkloadId, ImmutableList<WorkloadId>> ways = new HashMap<>();
        components.forEach((start, component) -> {
            int rest = Objects.requireNonNull(left.get(component));
            if (rest > 0 && !ways.containsKey(start)) {
                Map<WorkloadId, WorkloadId> from = new HashMap<>();
                ImmutableList<WorkloadId> cycle = shortest(start, component, from);
                left.put(component, rest - from.size() - 1);
                first.putIfAbsent(component, cycle);
                ImmutableList<WorkloadId> twice = ImmutableList.<WorkloadId>builder()
                        .addAll(cycle)
                        .addAll(cycle)
                        .build();
                for (int i = 0; i < cycle.size(); i++) {
                    ways.putIfAbsent(twice.get(i), twice.subList(i, i + cycle.size()));
                }
            }
        });
        components.forEach((id, component) -> ways.putIfAbsent(id, Objects.requireNonNull(first.get(component))));
        return ImmutableMap.copyOf(ways);
    }

    /** @param from gets who was looked at, and from where */
    private ImmutableList<WorkloadId> shortest(WorkloadId start, Integer component, Map<WorkloadId, WorkloadId> from) {
        Deque<WorkloadId> open = new ArrayDeque<>();
        open.add(start);
        while (!open.isEmpty()) {
            WorkloadId id = open.remove();
            if (needs.containsEntry(id, start)) {
                return way(start, id, from);
            }
            for (WorkloadId next : needs.get(id)) {
                if (component.equals(components.get(next)) && from.putIfAbsent(next, id) == null) {
                    open.add(next);
                }
            }
        }
        throw new IllegalStateException(start + " is in no cycle");
    }

    private static ImmutableList<WorkloadId> way(WorkloadId start, WorkloadId end, Map<WorkloadId, WorkloadId> from) {
        ArrayDeque<WorkloadId> way = new ArrayDeque<>();
        for (WorkloadId id = end; id != null && !id.equals(start); id = from.get(id)) {
            way.addFirst(id);
        }
        way.addFirst(start);
        return ImmutableList.copyOf(way);
    }

    /**
     * Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972) without recursion: a chain may be longer than the stack
     * of a thread.
     */
    private static final class Walk {
        private final ImmutableSetMultimap<WorkloadId, WorkloadId> needs;
        private final Map<WorkloadId, Visit> visits = new HashMap<>();
        private final Deque<Visit> path = new ArrayDeque<>();
        private final Deque<Visit> open = new ArrayDeque<>();
        private final Map<WorkloadId, Integer> found = new HashMap<>();

        Walk(ImmutableSetMultimap<WorkloadId, WorkloadId> needs) {
            this.needs = needs;
        }

        ImmutableMap<WorkloadId, Integer> components() {
            for (WorkloadId id : needs.keySet()) {
                if (!visits.containsKey(id)) {
                    visit(id);
                    while (!path.isEmpty()) {
                        step(path.element());
                    }
                }
            }
            return Maps.toMap(
                    Iterables.filter(needs.keySet(), found::containsKey), id -> Objects.requireNonNull(found.get(id)));
        }

        private void visit(WorkloadId id) {
            Visit visit = new Visit(id, visits.size(), needs.get(id).iterator());
            visits.put(id, visit);
            path.push(visit);
            open.push(visit);
        }

        private void step(Visit at) {
            if (at.rest.hasNext()) {
                WorkloadId next = at.rest.next();
                Visit other = visits.get(next);
                if (other == null) {
                    visit(next);
                } else if (other.open) {
                    at.low = Math.min(at.low, other.number);
                }
                return;
            }
            path.pop();
            if (!path.isEmpty()) {
                path.element().low = Math.min(path.element().low, at.low);
            }
            if (at.low == at.number) {
                close(at);
            }
        }

        private void close(Visit root) {
            boolean cycle = open.element() != root || needs.containsEntry(root.id, root.id);
            Visit last;
            do {
                last = open.pop();
                last.open = false;
                if (cycle) {
                    found.put(last.id, root.number);
                }
            } while (last != root);
        }
    }

    private static final class Visit {
        private final WorkloadId id;
        private final int number;
        private final Iterator<WorkloadId> rest;
        private int low;
        private boolean open = true;

        Visit(WorkloadId id, int number, Iterator<WorkloadId> rest) {
            this.id = id;
            this.number = number;
            this.rest = rest;
            this.low = number;
        }
    }
}
