package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import java.util.Objects;

/**
 * The plugin's own configuration.
 *
 * @param enabled whether tasks can be had
 * @param greeting told of each task
 */
record PluginConfig(boolean enabled, String greeting, Faults faults) {
    static final PluginConfig NONE = new PluginConfig(true, "", Faults.NONE);

    /** Throws IllegalArgumentException. */
    static PluginConfig read(ByteString msgpack) {
        Msgpack config = Msgpack.read(msgpack);
        return new PluginConfig(
                config.flag("enabled", true),
                Objects.requireNonNullElse(config.text("greeting", null), ""),
                Faults.of(config.texts("faults")));
    }
}
