package io.homeostat.observe.process;

import io.homeostat.observe.process.ProcFs.Stat;

/** Tells a process from all others of one boot: a number is given again, but not in the same clock tick. */
public record ProcessKey(long pid, long startTicks) {
    public static ProcessKey of(Stat stat) {
        return new ProcessKey(stat.pid(), stat.startTicks());
    }
}
