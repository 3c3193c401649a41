package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What is needed to find a task again, and all that is known of it when its host has forgotten its configuration, as Nomad's does.
 *
 * @param boot the boot of the machine in which these processes are
 * @param executor the process that waits for the task's, and leads their session
 * @param executorStart when that began, by {@link Proc#start}
 * @param pid the task's first process
 * @param pidStart when that began; 0 when it had ended before anybody could look
 * @param directory where the executor leaves its files
 * @param command what was executed
 * @param faults as they were declared, one a line
 * @param hints what else was declared, as InspectTask tells it
 */
record DriverState(
        String boot,
        long executor,
        long executorStart,
        long pid,
        long pidStart,
        Path directory,
        Instant startedAt,
        String command,
        String faults,
        Map<String, String> hints) {
    private static final String HINT = "hint.";

    DriverState {
        hints = Map.copyOf(hints);
    }

    ByteString write() {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("boot", boot);
        fields.put("executor", Long.toString(executor));
        fields.put("executor_start", Long.toString(executorStart));
        fields.put("pid", Long.toString(pid));
        fields.put("pid_start", Long.toString(pidStart));
        fields.put("directory", directory.toString());
        fields.put("started_at", startedAt.toString());
        fields.put("command", command);
        fields.put("faults", faults);
        hints.forEach((name, value) -> fields.put(HINT + name, value));
        return Msgpack.write(fields);
    }

    /** Throws IllegalArgumentException for what this driver has not written. */
    static DriverState read(ByteString bytes) {
        Msgpack fields = Msgpack.read(bytes);
        try {
            return new DriverState(
                    fields.required("boot"),
                    Long.parseLong(fields.required("executor")),
                    Long.parseLong(fields.required("executor_start")),
                    Long.parseLong(fields.required("pid")),
                    Long.parseLong(fields.required("pid_start")),
                    Path.of(fields.required("directory")),
                    Instant.parse(fields.required("started_at")),
                    fields.required("command"),
                    fields.required("faults"),
                    fields.textsBelow(HINT));
        } catch (RuntimeException e) {
            throw new IllegalArgumentException("this is no state of this driver: " + e.getMessage(), e);
        }
    }

    Faults orderedFaults() {
        return Faults.of(faults.lines().toList());
    }
}
