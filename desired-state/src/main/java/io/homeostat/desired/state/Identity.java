package io.homeostat.desired.state;

import io.homeostat.desired.model.schema.Fields;
import org.jspecify.annotations.Nullable;

/** By what an instance is found again after whoever created it has gone. Stored, so a word of {@link Fields.Key} is never changed. */
public sealed interface Identity {
    /** For people: "pid 42". */
    String words();

    /** Whether it can exist in this boot of the host. */
    default boolean mayBeOf(String bootId) {
        return true;
    }

    /**
     * A task of a driver.
     *
     * @param handle by which its driver recovers it; opaque to us
     * @param network what the driver made for it; null when it made none
     */
    @Fields.Key("task")
    record Task(
            String driver,
            String taskId,
            String handle,
            @Nullable String network) implements Identity {
        @Override
        public String words() {
            return "task " + taskId;
        }
    }

    /**
     * A virtual machine with an agent in it.
     *
     * @param endpoint where the agent listens
     * @param guestBoot which boot of the guest; in another one nothing of it is left
     */
    @Fields.Key("sandbox")
    record Sandbox(String endpoint, String guestBoot) implements Identity {
        @Override
        public String words() {
            return "sandbox " + endpoint;
        }
    }

    /**
     * A container in a sandbox.
     *
     * @param sandbox launch id of the sandbox; in another launch of it there is no such container
     */
    @Fields.Key("container")
    record Container(String sandbox, String containerId) implements Identity {
        @Override
        public String words() {
            return "container " + containerId;
        }
    }

    /**
     * Which process of this host is meant, and no other that gets its number later.
     *
     * @param startTicks field 22 of /proc/PID/stat: clock ticks since boot (proc_pid_stat(5))
     * @param bootId /proc/sys/kernel/random/boot_id
     */
    @Fields.Key("process")
    record ProcessIdentity(long pid, long startTicks, String bootId) implements Identity {
        @Override
        public String words() {
            return "pid " + pid;
        }

        @Override
        public boolean mayBeOf(String boot) {
            return bootId.equals(boot);
        }
    }
}
