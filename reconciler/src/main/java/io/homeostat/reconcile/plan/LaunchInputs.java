package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Execution;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.store.Instance;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.desired.store.Reason;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a process can't change once it runs, as one hash each: which of them differ is the reason for a restart. */
public final class LaunchInputs {
    /** In the order in which they are named as a reason. */
    private static final ImmutableSortedMap<String, Reason> REASONS = ImmutableSortedMap.of(
            "arguments", Reason.ARGUMENTS_CHANGED,
            "entryPoint", Reason.ENTRY_POINT_CHANGED,
            "environment", Reason.ENVIRONMENT_CHANGED,
            "user", Reason.USER_CHANGED);

    private LaunchInputs() {}

    /** The hashes for a program as it is declared. */
    public static ImmutableSortedMap<String, String> of(Workload workload) {
        Program program = workload.program();
        String user = program.user();
        return ImmutableSortedMap.of(
                "arguments", hash(program.arguments()),
                "entryPoint", hash(List.of(program.entryPoint())),
                "environment",
                        hash(program.env().entrySet().stream()
                                .map(e -> e.getKey() + "=" + e.getValue())
                                .toList()),
                "user", hash(user == null ? List.of() : List.of(user)));
    }

    /** Why the process of this instance is not what is declared; empty when it is. */
    static Optional<Reason> difference(Instance instance, Workload wanted, @Nullable String directory) {
        if (Work.isOneShot(instance) != (wanted.lifecycle().execution().type() == Execution.Type.ONE_SHOT)) {
            return Optional.of(Reason.EXECUTION_CHANGED);
        }
        return difference(instance.revision(), instance.directory(), instance.inputs(), wanted, directory);
    }

    /** What a declaration changes of the program that was last seen well; empty when nothing. */
    static Optional<Reason> difference(ProvenRevision proven, Workload wanted, @Nullable String directory) {
        Workload old = proven.workload();
        return difference(old.revision(), proven.directory(), of(old), wanted, directory);
    }

    private static Optional<Reason> difference(
            String revision,
            @Nullable String oldDirectory,
            Map<String, String> inputs,
            Workload wanted,
            @Nullable String directory) {
        if (!revision.equals(wanted.revision())) {
            return Optional.of(Reason.REVISION_CHANGED);
        }
        if (!Objects.equals(oldDirectory, directory)) {
            return Optional.of(Reason.CONTENT_CHANGED);
        }
        ImmutableSortedMap<String, String> declared = of(wanted);
        for (Map.Entry<String, Reason> input : REASONS.entrySet()) {
            if (!Objects.equals(declared.get(input.getKey()), inputs.get(input.getKey()))) {
                return Optional.of(input.getValue());
            }
        }
        return Optional.empty();
    }

    /** Whether the process of this instance was launched as this program is declared, wherever it is installed. */
    static boolean matches(Instance instance, Workload workload) {
        return instance.revision().equals(workload.revision())
                && Maps.filterKeys(instance.inputs(), key -> !key.equals(FormerNeeds.INPUT))
                        .equals(of(workload));
    }

    private static String hash(Iterable<String> parts) {
        Hasher hasher = Hashing.sha256().newHasher();
        for (String part : parts) {
            hasher.putInt(part.length()).putString(part, StandardCharsets.UTF_8);
        }
        return hasher.hash().toString();
    }
}
