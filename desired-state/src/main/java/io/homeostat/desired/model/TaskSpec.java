package io.homeostat.desired.model;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.Key;
import io.homeostat.desired.model.schema.Fields.Keys;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Fields.RunsInside;
import io.homeostat.desired.model.schema.Fields.Secret;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Work that a driver of this machine runs. */
@Doc("Work that a driver of this machine runs.")
@RunsInside
public record TaskSpec(
        @Doc("The Driver that runs it.")
        @Matches(value = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}", words = "the name of a Driver")
        String driver,

        @Doc("The revision to run. Another revision is an upgrade. A hash of what the task consists of, when left out.")
        @Key("revision")
        @Matches(
                value = "[A-Za-z0-9._-]{1,64}",
                words = "1 to 64 letters, digits, '.', '_' or '-'",
                anyInMessages = true)
        @Nullable
        String namedRevision,

        @Doc("An archive, unpacked into the task's directory local/ before it starts.") @Nullable
        Source source,

        @Doc("The driver's own keys for a task, checked and converted by the schema that it gives itself.")
        @Secret
        @Nullable
        ObjectNode config,

        @Doc("Environment variables of the task, beside those of Nomad (NOMAD_*).")
        @Keys(value = "[A-Za-z_][A-Za-z0-9_]*", words = "a letter or '_', then letters, digits or '_'")
        ImmutableSortedMap<String, String> env,

        @Doc("The user to run as; what the driver runs tasks as when left out.")
        @Matches(value = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}", words = "a user name or number")
        @Nullable
        String user,

        @Doc("Ports that the task listens on, told to it by its environment and to drivers that forward ports.")
        ImmutableList<Port> ports,

        @Doc("The network it is in; that of the host when left out.") @Nullable
        Network network,

        @Inline Lifecycle lifecycle,

        @Doc(
                "How to ask whether the task is well: exec runs inside it, through its driver. When left out, a running task is a healthy one.")
        @Nullable
        Probe probe)
        implements WorkloadSpec {
    private static final int HASH_DIGITS = 12;

    /** By identity: each look asks for it several times. */
    private static final LoadingCache<TaskSpec, String> HASHES =
            CacheBuilder.newBuilder().weakKeys().build(CacheLoader.from(TaskSpec::hash));

    /** A port of the host. */
    public record Port(
            @Doc("By which the task finds it in its environment (NOMAD_PORT_label).")
            @Matches(value = "[A-Za-z0-9_]{1,64}", words = "1 to 64 letters, digits or '_'")
            String label,

            @Doc("The port of the host.") @Range(min = 1, max = 65_535)
            int port,

            @Doc("The port inside the task's own network; the same when left out.")
            @Range(min = 1, max = 65_535)
            @Nullable
            Integer to) {
        /** The port on which the task itself listens. */
        public int inside() {
            return to == null ? port : to;
        }
    }

    /** How a task reaches others. */
    public record Network(
            @Doc("host: that of the host. none: none. task, group: one that the driver makes, if it can.")
            @Default("host")
            Mode mode) {
        /** As drivers tell them apart. */
        public enum Mode {
            HOST,
            NONE,
            TASK,
            GROUP
        }
    }

    public Network.Mode networkMode() {
        return network == null ? Network.Mode.HOST : network.mode();
    }

    @Override
    public WorkloadId partOf() {
        return new WorkloadId(Kind.DRIVER, driver);
    }

    @Override
    public String revision() {
        return namedRevision == null ? "h" + HASHES.getUnchecked(this) : namedRevision;
    }

    private String hash() {
        Hasher hasher = Hashing.sha256().newHasher();
        add(
                hasher,
                driver,
                config == null ? "" : Structs.canonical(config),
                String.valueOf(user),
                networkMode().name(),
                ports.toString());
        if (source != null) {
            add(hasher, source.identity());
        }
        for (Map.Entry<String, String> variable : env.entrySet()) {
            add(hasher, variable.getKey(), variable.getValue());
        }
        return hasher.hash().toString().substring(0, HASH_DIGITS);
    }

    private static void add(Hasher hasher, String... parts) {
        for (String part : parts) {
            hasher.putInt(part.length()).putString(part, StandardCharsets.UTF_8);
        }
    }

    /** Without what may be secret. */
    @Override
    public String toString() {
        return "TaskSpec[" + revision() + " by " + driver + "]";
    }
}
