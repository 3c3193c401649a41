package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.install.Installation;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A workload as it is to be brought about: the declaration, or the last good revision in its place.
 *
 * @param key of the archive; null when the program is local
 * @param directory where it is or will be installed; null when the program is local
 * @param installed nothing needs to be fetched
 * @param damaged an installation of it that may not be used any more; null when there is none
 */
public record Target(
        Workload workload,
        String hash,
        @Nullable String key,
        @Nullable String directory,
        boolean installed,
        @Nullable Installation damaged) {

    public static Target of(Workload workload, String hash, List<Installation> installations) {
        Source source = workload.source();
        if (source == null) {
            return new Target(workload, hash, null, null, true, null);
        }
        String key = source.archiveKey(workload.id(), workload.revision());
        Installation whole = null;
        Installation damaged = null;
        for (Installation installation : installations) {
            if (installation.satisfies(workload.revision(), key)) {
                if (!installation.isWhole()) {
                    damaged = installation;
                } else if (whole == null) {
                    whole = installation;
                }
            }
        }
        String directory = whole == null ? freeDirectory(workload, key, installations) : whole.directory();
        return new Target(workload, hash, key, directory, whole != null, damaged);
    }

    /** The plain name when no other archive of this revision, and nothing damaged that may be in use, has it. */
    private static String freeDirectory(Workload workload, String key, List<Installation> installations) {
        Set<String> taken = installations.stream().map(Installation::directory).collect(Collectors.toSet());
        String revision = workload.revision();
        String directory = Layout.installName(workload.id(), revision, null);
        for (int number = 1; taken.contains(directory); number++) {
            String content = number == 1 ? key : key + " " + number;
            directory = Layout.installName(workload.id(), revision, content);
        }
        return directory;
    }

    public static Target of(LastKnownGood lastKnownGood, List<Installation> installations) {
        return of(lastKnownGood.workload(), lastKnownGood.hash(), installations);
    }

    Lifecycle lifecycle() {
        return workload.lifecycle();
    }

    Traits traits() {
        return Traits.of(workload);
    }

    boolean isStartedExplicitly() {
        return KindTraits.of(workload.id().kind()).isStartedExplicitly();
    }

    /** Whether the target itself is what was last seen well. */
    boolean isLastKnownGood(Situation situation) {
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        return lastKnownGood != null && lastKnownGood.hash().equals(hash);
    }

    /** Whether an instance of ours runs from an installation of this very target that is damaged. */
    boolean isDamaged(@Nullable String running) {
        return damaged != null && damaged.directory().equals(running);
    }
}
