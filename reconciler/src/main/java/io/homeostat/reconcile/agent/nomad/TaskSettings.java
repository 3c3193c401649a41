package io.homeostat.reconcile.agent.nomad;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What stands in {@code task { config { ... } }} of a job.
 *
 * @param url of the archive; empty: the program is on this machine already
 * @param restart whether Homeostat restarts it after a failure, instead of Nomad
 * @param plugin whether it serves the GuestAgentPlugin protocol
 * @param config handed to a plugin; empty: none
 * @param cpuHardLimit whether the share of the processors that Nomad gives it is the most that it gets
 * @param probe null when there is none
 */
record TaskSettings(
        String url,
        String sha256,
        String entryPoint,
        ImmutableList<String> arguments,
        ImmutableMap<String, String> env,
        boolean restart,
        boolean plugin,
        String config,
        boolean cpuHardLimit,
        @Nullable ProbeSettings probe) {

    /** Exactly one of the four. */
    record ProbeSettings(String http, String tcp, ImmutableList<String> exec, String grpc) {}

    static final Spec SPEC = Specs.object(ImmutableMap.<String, Spec>builder()
            .put("url", Specs.attr("url", "string"))
            .put("sha256", Specs.attr("sha256", "string"))
            .put("entry_point", Specs.required("entry_point", "string"))
            .put("arguments", Specs.attr("arguments", "list(string)"))
            .put("env", Specs.attr("env", "map(string)"))
            .put("restart", Specs.byDefault(Specs.attr("restart", "bool"), "false"))
            .put("plugin", Specs.byDefault(Specs.attr("plugin", "bool"), "false"))
            .put("config", Specs.attr("config", "string"))
            .put("cpu_hard_limit", Specs.byDefault(Specs.attr("cpu_hard_limit", "bool"), "false"))
            .put(
                    "probe",
                    Specs.block(
                            "probe",
                            Specs.object(Map.of(
                                    "http", Specs.attr("http", "string"),
                                    "tcp", Specs.attr("tcp", "string"),
                                    "exec", Specs.attr("exec", "list(string)"),
                                    "grpc", Specs.attr("grpc", "string")))))
            .buildOrThrow());

    /** Throws IllegalArgumentException that names the key. */
    static TaskSettings read(ByteString msgpack) {
        MsgpackConfig config = MsgpackConfig.read(msgpack);
        if (config.text("entry_point").isEmpty()) {
            throw new IllegalArgumentException("entry_point is missing: the file to execute");
        }
        if (config.text("url").isEmpty() != config.text("sha256").isEmpty()) {
            throw new IllegalArgumentException("url and sha256 belong together: nothing is run that was not verified");
        }
        MsgpackConfig probe = config.block("probe");
        boolean plugin = config.flag("plugin");
        if (plugin && probe != null) {
            throw new IllegalArgumentException("probe: a plugin is asked for its status, and has no other probe");
        }
        if (!plugin && !config.text("config").isEmpty()) {
            throw new IllegalArgumentException("config: only a plugin is given one; set plugin = true");
        }
        return new TaskSettings(
                config.text("url"),
                config.text("sha256"),
                config.text("entry_point"),
                config.texts("arguments"),
                config.textByKey("env"),
                config.flag("restart"),
                plugin,
                config.text("config"),
                config.flag("cpu_hard_limit"),
                probe == null ? null : probe(probe));
    }

    private static ProbeSettings probe(MsgpackConfig config) {
        ProbeSettings probe =
                new ProbeSettings(config.text("http"), config.text("tcp"), config.texts("exec"), config.text("grpc"));
        long given = Stream.of(
                        !probe.http().isEmpty(),
                        !probe.tcp().isEmpty(),
                        !probe.exec().isEmpty(),
                        !probe.grpc().isEmpty())
                .filter(one -> one)
                .count();
        if (given != 1) {
            throw new IllegalArgumentException("probe: exactly one of http, tcp, exec and grpc has to be set");
        }
        return probe;
    }
}
