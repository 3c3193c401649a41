package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import java.nio.file.Path;
import java.util.Collection;
import java.util.stream.Stream;

/** Whether others can change what the agent obeys. */
public final class TrustChecks {
    private TrustChecks() {}

    /**
     * Looks at the places that declarations are read from, and at the configuration, which root can't have read where there is something to
     * say of it.
     */
    public static ImmutableList<Finding> look(
            Path configuration, Collection<Path> sources, TrustedPath trusted, boolean isRoot) {
        TrustedPath.Walk walk = trusted.walk();
        return Stream.concat(isRoot ? Stream.empty() : Stream.of(configuration), sources.stream())
                .flatMap(path -> walk.objection(path).stream().map(objection -> {
                    String message = path
                            + (isRoot ? " is not read by an agent of root: " : " can be changed by others: ")
                            + objection.why();
                    return isRoot
                            ? Finding.fail("trust", message, objection.remedy())
                            : Finding.warn("trust", message, objection.remedy());
                }))
                .collect(ImmutableList.toImmutableList());
    }
}
