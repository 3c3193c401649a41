package io.homeostat.reconcile.agent.nomad;

import com.google.protobuf.ByteString;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What stands in {@code plugin "homeostat-driver" { config { ... } }} of a Nomad client.
 *
 * @param stateDir where tasks are declared; empty: where Homeostat keeps its state otherwise
 * @param runDir of sockets; empty: beside a state directory that is given, else the usual one
 * @param agentConfig agent.yaml of the agent that is started when none runs; empty: nothing but tasks of Nomad is declared there, or the
 *     usual file for the usual state directory
 */
record PluginSettings(Optional<Path> stateDir, Optional<Path> runDir, Optional<Path> agentConfig) {
    static final PluginSettings NONE = new PluginSettings(Optional.empty(), Optional.empty(), Optional.empty());

    static final Spec SPEC = Specs.object(Map.of(
            "state_dir", Specs.attr("state_dir", "string"),
            "run_dir", Specs.attr("run_dir", "string"),
            "agent_config", Specs.attr("agent_config", "string")));

    /** Throws IllegalArgumentException that names the key. */
    static PluginSettings read(ByteString msgpack) {
        MsgpackConfig config = MsgpackConfig.read(msgpack);
        return new PluginSettings(path(config, "state_dir"), path(config, "run_dir"), path(config, "agent_config"));
    }

    private static Optional<Path> path(MsgpackConfig config, String key) {
        String text = config.text(key);
        if (text.isEmpty()) {
            return Optional.empty();
        }
        try {
            Path path = Path.of(text);
            if (path.isAbsolute()) {
                return Optional.of(path.normalize());
            }
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(key + " is no path: " + e.getReason(), e);
        }
        throw new IllegalArgumentException(key + " is '" + text + "', which is no absolute path");
    }
}
