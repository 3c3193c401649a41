package io.homeostat.observe;

import io.homeostat.observe.ProcFs.Stat;

/** Tells a process from all others of one boot: a number is given again, but not in the same clock tick. */
record ProcessKey(long pid, long startTicks) {
    static ProcessKey of(Stat stat) {
        return new ProcessKey(stat.pid(), stat.startTicks());
    }
}
