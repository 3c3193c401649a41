package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;
import java.util.stream.Stream;

/** Whether others can change what the agent obeys. */
public final class TrustChecks {
    private static final String CHECK = "trust";

    private TrustChecks() {}

    /**
     * Looks at the places that declarations are read from, at the files that say whom to believe, and at the configuration, which root can't
     * have read where there is something to say of it.
     */
    public static ImmutableList<Finding> look(
            Path configuration, Collection<Path> sources, AgentConfig config, boolean isRoot) {
        TrustedPath.Walk declarers =
                TrustedPath.ofThisProcess(config.sources().owners()).walk();
        TrustedPath.Walk ours = TrustedPath.ofThisProcess(ImmutableList.of()).walk();
        Stream<Path> files =
                Stream.concat(isRoot ? Stream.empty() : Stream.of(configuration), config.trustAnchors().stream());
        return Stream.concat(
                        files.flatMap(file -> finding(file, ours, isRoot).stream()),
                        sources.stream().flatMap(source -> finding(source, declarers, isRoot).stream()))
                .collect(ImmutableList.toImmutableList());
    }

    private static Optional<Finding> finding(Path path, TrustedPath.Walk walk, boolean isRoot) {
        return walk.objection(path)
                .map(objection -> isRoot
                        ? Finding.fail(
                                CHECK,
                                path + " is not read by an agent of root: " + objection.why(),
                                objection.remedy())
                        : Finding.warn(
                                CHECK, path + " may be changed by others: " + objection.why(), objection.remedy()));
    }
}
