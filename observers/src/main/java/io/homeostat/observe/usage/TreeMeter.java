package io.homeostat.observe.usage;

import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessKey;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Adds up what the processes of one tree use, from one look at it to the next. */
final class TreeMeter {
    private Map<ProcessKey, Stat> before = Map.of();

    /**
     * Processor time that the tree used since the last look at it, in nanoseconds; never negative.
     *
     * <p>What a process used that ended in between is counted with its parent when that has waited for it; what was counted of it
     * before is taken off there. When nobody of the tree has waited for it, its last share is lost.
     *
     * @param nanos how long ago the last look was. A process that is older and was not seen then came to the tree from elsewhere: what it
     *     used there is not counted
     */
    long used(Collection<Stat> members, ProcessTable table, long nanos) {
        Map<ProcessKey, Stat> now = new HashMap<>();
        long own = 0;
        long collected = 0;
        for (Stat stat : members) {
            now.put(ProcessKey.of(stat), stat);
            Stat last = before.get(ProcessKey.of(stat));
            if (last != null) {
                own += Math.max(0, stat.ownTicks() - last.ownTicks());
                collected += Math.max(0, stat.childTicks() - last.childTicks());
            } else if (table.age(stat) <= nanos + ProcFs.NANOS_PER_TICK) {
                own += stat.ownTicks();
                collected += stat.childTicks();
            }
        }
        Set<ProcessKey> ended = new HashSet<>(before.keySet());
        ended.removeAll(now.keySet());
        for (ProcessKey key : ended) {
            Stat last = before.get(key);
            collected -= last == null ? 0 : last.ownTicks() + last.childTicks();
        }
        before = now;
        return (own + Math.max(0, collected)) * ProcFs.NANOS_PER_TICK;
    }
}
