package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.install.Installation;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The files of the fake machine. What was changed survives a power cut once its directory is synced, see {@link Unsynced}. */
final class FakeDisk {
    private static final String ARCHIVES = "archives";

    /** From which processes read variables. */
    static final String FILE = "/etc/variables";

    final Set<String> archives = new TreeSet<>();
    final Map<WorkloadId, String> links = new HashMap<>();
    final Set<WorkloadId> residue = new TreeSet<>();
    final Unsynced unsynced = new Unsynced();
    /** What is in that file; null: there is none. */
    @Nullable
    String variables = "A=0";

    private final Map<WorkloadId, Map<String, Installation>> installs = new HashMap<>();
    /** Where the revision that was last seen to work is installed: what an upgrade must not take away before it has worked. */
    private final Map<WorkloadId, String> lastGood = new HashMap<>();

    private final Map<WorkloadId, Set<String>> spoiled = new HashMap<>();
    private final Map<WorkloadId, Set<String>> haveWorked = new HashMap<>();

    void putArchive(String key) {
        if (archives.add(key)) {
            unsynced.changed(ARCHIVES, key, () -> archives.remove(key));
        }
    }

    ImmutableMap<String, FileContent> files(ImmutableSet<String> paths) {
        String text = variables;
        FileContent content =
                text == null ? new FileContent.Absent() : FileContent.of(text.getBytes(StandardCharsets.UTF_8));
        return Maps.toMap(paths, path -> content);
    }

    void syncArchives() {
        unsynced.sync(ARCHIVES);
    }

    /** Installations and symlinks of a kind are in one directory. */
    void putInstall(WorkloadId id, Installation installation) {
        installs(id).put(installation.directory(), installation);
        unsynced.changed(place(id), installation.directory(), () -> installs(id).remove(installation.directory()));
    }

    void takeInstall(WorkloadId id, String directory) {
        Installation taken = installs(id).remove(directory);
        if (taken != null) {
            unsynced.changed(place(id), directory, () -> installs(id).put(directory, taken));
        }
    }

    /** @param directory null: there is none any more */
    void link(WorkloadId id, @Nullable String directory) {
        String before = links.get(id);
        setLink(id, directory);
        unsynced.changed(place(id), id.name(), () -> setLink(id, before));
    }

    private void setLink(WorkloadId id, @Nullable String directory) {
        if (directory == null) {
            links.remove(id);
        } else {
            links.put(id, directory);
        }
    }

    void syncInstalls(WorkloadId id) {
        unsynced.sync(place(id));
    }

    /** Whether the revision that was last seen to work would be there after a power cut. */
    boolean isLastGoodDurable(WorkloadId id) {
        String directory = lastGood.get(id);
        return directory == null || unsynced.isDurable(place(id), directory);
    }

    private static String place(WorkloadId id) {
        return id.kind().plural();
    }

    /** Installations of a workload by the name of their directory. */
    Map<String, Installation> installs(WorkloadId id) {
        return installs.computeIfAbsent(id, any -> new TreeMap<>());
    }

    /** A process has started well. */
    void worked(FakeProcess process) {
        process.worked = true;
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

    /** Whether it is damaged, and the same is there whole and to stay. */
    boolean isReplaced(WorkloadId id, String directory) {
        Installation damaged = installs(id).get(directory);
        return damaged != null
                && !damaged.isWhole()
                && installs(id).values().stream()
                        .anyMatch(other -> other.isWhole()
                                && other.key().equals(damaged.key())
                                && unsynced.isDurable(place(id), other.directory()));
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
        installs(id).replaceAll((directory, installation) -> installation.withDamage("bin/run is odd"));
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

    /** Changes of directories that are visible and not yet durable: a power cut may take them back, newest first. */
    static final class Unsynced {
        private final Map<String, List<Change>> changes = new HashMap<>();

        private record Change(String name, Runnable undo) {}

        /**
         * Something in a directory was changed.
         *
         * @param name in that directory
         */
        void changed(String directory, String name, Runnable undo) {
            changes.computeIfAbsent(directory, any -> new ArrayList<>()).add(new Change(name, undo));
        }

        /** A directory is made durable with all names in it, whoever changed them. */
        void sync(String directory) {
            changes.remove(directory);
        }

        boolean isDurable(String directory, String name) {
            return changes.getOrDefault(directory, List.of()).stream()
                    .noneMatch(change -> change.name().equals(name));
        }

        /** @param lost whether the changes of a directory are gone; they become durable in order, so here all or none of them */
        void powerFails(Predicate<String> lost) {
            changes.forEach((directory, some) -> {
                if (lost.test(directory)) {
                    some.reversed().forEach(change -> change.undo().run());
                }
            });
            changes.clear();
        }
    }
}
