package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A task's configuration for this driver.
 *
 * @param labels only told again, in what InspectTask answers
 * @param nice likewise
 */
record TaskOptions(String command, List<String> args, Map<String, String> labels, int nice, Faults faults) {

    /** Throws IllegalArgumentException, also for a task without a command. */
    static TaskOptions read(ByteString msgpack) {
        Msgpack config = Msgpack.read(msgpack);
        return new TaskOptions(
                config.required("command"),
                config.texts("args"),
                config.textByKey("labels"),
                config.block("limits_hint").number("nice", 0),
                Faults.of(config.texts("faults")));
    }

    /** What has no effect on how it runs. */
    Map<String, String> hints() {
        Map<String, String> hints = new HashMap<>();
        hints.put("nice", Integer.toString(nice));
        labels.forEach((name, value) -> hints.put("label." + name, value));
        return hints;
    }
}
