package io.homeostat.desired.model;

import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.guest.ContainerSettings;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.RunsInside;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Work in a virtual machine, which the agent of its sandbox runs. */
@Doc("Work in a virtual machine, kept apart from what else runs there.")
@RunsInside
public record ContainerSpec(
        @Inline ContainerSettings container,

        @Doc(
                "An archive with its root file system, which is copied into the guest once in each boot; in place of rootfs.path and rootfs.storage.")
        @Nullable
        Source source,

        @Inline Lifecycle lifecycle,

        @Doc(
                "How to ask whether it is well: exec runs inside of it, the others ask from this machine. When left out, a container that runs is a healthy one.")
        @Nullable
        Probe probe)
        implements WorkloadSpec {
    private static final int HASH_DIGITS = 12;

    /** By identity: each look asks for it several times. */
    private static final LoadingCache<ContainerSpec, String> HASHES =
            CacheBuilder.newBuilder().weakKeys().build(CacheLoader.from(ContainerSpec::hash));

    @Override
    public WorkloadId partOf() {
        return new WorkloadId(Kind.SANDBOX, container.sandbox());
    }

    @Override
    public String revision() {
        String named = container.namedRevision();
        return named == null ? "h" + HASHES.getUnchecked(this) : named;
    }

    /** All of it that is changed in place. */
    public ContainerSettings.InPlace inPlace() {
        Lifecycle.Limits limits = lifecycle.limits();
        return new ContainerSettings.InPlace(limits.memory(), limits.cpu(), limits.pids(), container.frozen());
    }

    private String hash() {
        Hasher hasher = Hashing.sha256().newHasher();
        ContainerSettings.Program program = container.program();
        for (List<String> parts : List.of(
                List.of(
                        container.sandbox(),
                        program.user().toString(),
                        program.env().toString()),
                program.command(),
                container.parts(),
                source == null ? List.<String>of() : List.of(source.identity()))) {
            hasher.putInt(parts.size());
            for (String part : parts) {
                hasher.putInt(part.length()).putString(part, StandardCharsets.UTF_8);
            }
        }
        return hasher.hash().toString().substring(0, HASH_DIGITS);
    }

    /** Without what may be secret. */
    @Override
    public String toString() {
        return "ContainerSpec[" + revision() + " in " + container.sandbox() + "]";
    }
}
