package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides what is left to chance while a history is played. A decision depends on the moment, on what is decided for whom, and on
 * how often that was decided in this moment, on nothing else: leaving out a part of a history does not shuffle the rest.
 */
final class FaultInjector {
    /** What is not a fault but has to be decided. */
    enum Draw {
        STEP_MILLIS,
        BIRTH_MILLIS,
        FETCH_MILLIS,
        WHETHER_FATAL
    }

    private static final int PERMILLE = 1000;
    private static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;

    private final List<WorkloadId> ids;
    private final @Nullable Set<Fault.Point> allowed;
    private final List<Fault.Point> struck = new ArrayList<>();
    private final Map<Enum<?>, int[]> counts = new HashMap<>();
    private int moment = -1;
    private long seed = 1;
    private int percent;

    /**
     * @param percent how harsh this history is; 0: no faults at all
     * @param allowed the only faults that may strike; null: all may
     */
    FaultInjector(List<WorkloadId> ids, int percent, @Nullable Set<Fault.Point> allowed) {
        this.ids = ids;
        this.percent = percent;
        this.allowed = allowed;
    }

    /** FaultInjector under which nothing goes wrong. */
    static FaultInjector kind(List<WorkloadId> ids) {
        return new FaultInjector(ids, 0, null);
    }

    void begin(Scenario.Moment next) {
        moment = next.number();
        seed = next.seed();
        counts.clear();
    }

    void stopFaults() {
        percent = 0;
    }

    /** Faults that have struck so far. */
    List<Fault.Point> struck() {
        return struck;
    }

    boolean strikes(Fault fault, WorkloadId id) {
        if (percent == 0) {
            return false;
        }
        int nth = count(fault, id);
        if (roll(fault, id, nth, PERMILLE) * 100 >= fault.permille() * percent) {
            return false;
        }
        Fault.Point point = new Fault.Point(moment, fault, id, nth);
        if (allowed != null && !allowed.contains(point)) {
            return false;
        }
        struck.add(point);
        return true;
    }

    /** A point between two effects at which the agent may die, alone or with the machine. */
    void agentMayDie(Fault fault, WorkloadId id, String where) {
        if (strikes(Fault.POWER_FAILS, id)) {
            throw new AgentCrash.PowerCut(where);
        }
        if (strikes(fault, id)) {
            throw new AgentCrash(where);
        }
    }

    /** A number from 0 up to but without the bound. */
    int pick(Draw draw, WorkloadId id, int bound) {
        return roll(draw, id, count(draw, id), bound);
    }

    private int count(Enum<?> what, WorkloadId id) {
        return counts.computeIfAbsent(what, any -> new int[ids.size()])[ids.indexOf(id)]++;
    }

    private int roll(Enum<?> what, WorkloadId id, int nth, int bound) {
        // By name: a fault that is added to the list changes nothing of the others.
        long place = what.name().hashCode() * (long) ids.size() + ids.indexOf(id);
        return (int) Long.remainderUnsigned(mix(mix(seed + place * GOLDEN_GAMMA) + nth * GOLDEN_GAMMA), bound);
    }

    /** SplitMix64's finalizer. */
    private static long mix(long value) {
        long z = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
