package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Streams;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StateReader.SourceProblem;
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
     * Looks at what declarations are read from, at the files that say whom to believe, and at the configuration, which root can't have read
     * where there is something to say of it.
     *
     * @param untrusted what root does not read
     */
    public static ImmutableList<Finding> look(
            Path configuration,
            Collection<Path> sources,
            AgentConfig config,
            boolean isRoot,
            Collection<SourceProblem> untrusted) {
        TrustedPath.Walk declarers =
                TrustedPath.ofThisProcess(config.sources().owners()).walk();
        TrustedPath.Walk ours = TrustedPath.ofThisProcess(ImmutableList.of()).walk();
        Stream<Path> files =
                Stream.concat(isRoot ? Stream.empty() : Stream.of(configuration), config.trustAnchors().stream());
        Stream<Path> directories = isRoot ? Stream.empty() : sources.stream();
        return Streams.concat(
                        files.flatMap(file -> finding(file, ours, isRoot).stream()),
                        directories.flatMap(source -> finding(source, declarers, false).stream()),
                        untrusted.stream().map(TrustChecks::finding))
                .collect(ImmutableList.toImmutableList());
    }

    /** A problem ends with its remedy. */
    private static Finding finding(SourceProblem problem) {
        return Finding.fail(CHECK, VisibleText.line(problem.message()));
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
