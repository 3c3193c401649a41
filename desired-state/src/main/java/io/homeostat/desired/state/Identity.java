package io.homeostat.desired.state;

import io.homeostat.desired.model.schema.Fields;
import org.jspecify.annotations.Nullable;

/** By what an instance is found again after whoever created it has gone. Stored, so a word of {@link Fields.Key} is never changed. */
public sealed interface Identity {
    /** For people: "pid 42". */
    String words();

    /** The boot of the host in which it was made, and with which it ends; null when it is not known, or may outlive it. */
    @Nullable
    String bootId();

    /** Whether it can exist in this boot of the host. */
    default boolean mayBeOf(String boot) {
        String own = bootId();
        return own == null || own.equals(boot);
    }

    /**
     * A task of a driver, which recovers it by an opaque handle.
     *
     * @param network what the driver made for it; null when it made none
     */
    @Fields.Key("task")
    record Task(
            String driver,
            String taskId,
            String handle,
            @Nullable String network,
            @Nullable String bootId) implements Identity {
        @Override
        public String words() {
            // What comes before is the same for all launches of a workload.
            return "task " + taskId.substring(taskId.lastIndexOf('/') + 1);
        }

        /** Without the handle, which has the task's whole configuration in it. */
        @Override
        public String toString() {
            return "Task[" + driver + ", " + taskId + "]";
        }
    }

    /**
     * A virtual machine with an agent, which listens at the endpoint. In another boot of the guest nothing of it is left.
     *
     * @param scrapes how often the agent had been asked for its metrics when the sandbox was made: one that counts less is another agent.
     *     0 when it did not say
     * @param created whether the agent has answered that the sandbox is there; until then it may be, or half of it
     */
    @Fields.Key("sandbox")
    record Sandbox(
            String endpoint,
            long scrapes,
            boolean created,
            @Nullable String bootId) implements Identity {
        /** The same once the agent has said that it is there. */
        public Sandbox answered() {
            return new Sandbox(endpoint, scrapes, true, bootId);
        }

        @Override
        public String words() {
            return "sandbox " + endpoint;
        }
    }

    /**
     * A container in a sandbox. In another boot of the guest there is no such container.
     *
     * @param endpoint where the agent of its guest listens
     * @param started whether the agent has answered that it runs; until then it may, or there may be half of it
     */
    @Fields.Key("container")
    record Container(
            String endpoint,
            String containerId,
            boolean started,
            @Nullable String bootId) implements Identity {
        private static final int SHOWN = 8;

        /** The same once the agent has said that it runs. */
        public Container answered() {
            return new Container(endpoint, containerId, true, bootId);
        }

        @Override
        public String words() {
            // Its launch id, of which the beginning tells it from the others.
            return "container " + containerId.substring(0, Math.min(containerId.length(), SHOWN));
        }
    }

    /**
     * A process of this host, and no other that gets its number later.
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
    }
}
