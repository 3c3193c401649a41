package io.homeostat.desired.state;

import io.homeostat.desired.model.schema.Key;

/**
 * Which process of this host is meant, and no other that gets its number later.
 *
 * @param startTicks field 22 of /proc/PID/stat: clock ticks since boot (proc_pid_stat(5))
 * @param bootId /proc/sys/kernel/random/boot_id
 */
@Key("process")
public record ProcessIdentity(long pid, long startTicks, String bootId) implements Identity {
    @Override
    public String words() {
        return "pid " + pid;
    }

    @Override
    public boolean mayBeOf(String boot) {
        return bootId.equals(boot);
    }
}
