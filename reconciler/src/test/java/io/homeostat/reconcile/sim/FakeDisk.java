package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Installation;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The files of the fake machine. Whatever became visible here survives a power cut. */
final class FakeDisk {
    final Set<String> archives = new TreeSet<>();
    final Map<WorkloadId, String> links = new HashMap<>();
    final Set<WorkloadId> residue = new TreeSet<>();
    private final Map<WorkloadId, Map<String, Installation>> installs = new HashMap<>();
    /** Where the revision that was last seen to work is installed: what an upgrade must not take away before it has worked. */
    private final Map<WorkloadId, String> lastGood = new HashMap<>();

    private final Map<WorkloadId, Set<String>> spoiled = new HashMap<>();
    private final Map<WorkloadId, Set<String>> haveWorked = new HashMap<>();

    /** Installations of a workload by the name of their directory. */
    Map<String, Installation> installs(WorkloadId id) {
        return installs.computeIfAbsent(id, any -> new TreeMap<>());
    }

    /** A process has started well. */
    void worked(FakeProcess process) {
        WorkloadId id = process.launched.workload();
        haveWorked.computeIfAbsent(id, any -> new TreeSet<>()).add(process.launched.revision());
        String directory = process.launched.directory();
        if (directory != null) {
            lastGood.put(id, directory);
        }
    }

    boolean hasWorked(WorkloadId id, String revision) {
        return haveWorked.getOrDefault(id, Set.of()).contains(revision);
    }

    boolean isLastGood(WorkloadId id, String directory) {
        return directory.equals(lastGood.get(id));
    }

    boolean hasTraceOf(WorkloadId id) {
        return residue.contains(id) || links.containsKey(id) || !installs(id).isEmpty();
    }

    void spoil(WorkloadId id, String revision) {
        spoiled.computeIfAbsent(id, any -> new TreeSet<>()).add(revision);
    }

    /** What a revision of this workload is like on this machine. */
    Behaviour behaviour(WorkloadId id, String revision) {
        Behaviour own = Behaviour.of(revision);
        boolean broken = spoiled.getOrDefault(id, Set.of()).contains(revision);
        return broken && own.startsWell() ? Behaviour.EXITS_AT_ONCE : own;
    }

    void moveLink(WorkloadId id) {
        links.computeIfPresent(id, (any, link) -> "elsewhere");
    }

    /** Somebody else deletes them, the last good one included. */
    void deleteInstalls(WorkloadId id) {
        installs(id).clear();
        lastGood.remove(id);
    }

    void damageInstalls(WorkloadId id) {
        installs(id).replaceAll((directory, installation) -> installation.withDamage("bin/run has other content"));
    }

    /** Whether what is in a directory still is what was unpacked. */
    boolean isWhole(WorkloadId id, @Nullable String directory) {
        Installation installation = directory == null ? null : installs(id).get(directory);
        return installation == null || installation.isWhole();
    }

    /** All that is left of it is gone. */
    void forget(WorkloadId id) {
        residue.remove(id);
        lastGood.remove(id);
    }
}
