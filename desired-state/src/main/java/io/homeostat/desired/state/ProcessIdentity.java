package io.homeostat.desired.state;

/**
 * Which process is meant, and no other that gets its number later.
 *
 * @param startTicks field 22 of /proc/PID/stat: clock ticks since boot (proc_pid_stat(5))
 * @param bootId /proc/sys/kernel/random/boot_id
 */
public record ProcessIdentity(long pid, long startTicks, String bootId) {}
