package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * One tree of control groups in which workloads have a group each.
 *
 * @param controllers those of ours that this tree has
 * @param home where groups are made
 * @param elsewhere where groups may be that were made by one of us who ran in another place, as a command beside the service
 * @param enabling the groups above a workload's that have to pass the controllers down, from the top; empty in version 1
 */
public record CgroupHierarchy(
        Version version,
        ImmutableSet<Controller> controllers,
        Path home,
        ImmutableList<Path> elsewhere,
        ImmutableList<Path> enabling) {

    public enum Version {
        V1,
        V2
    }

    /** Where a workload's group is made. */
    public Path group(WorkloadId id) {
        return home.resolve(name(id));
    }

    /** Where a workload's groups are; more than one only after a change of place. */
    public ImmutableList<Path> existing(WorkloadId id) {
        ImmutableList.Builder<Path> found = ImmutableList.builder();
        for (Path place : places()) {
            Path group = place.resolve(name(id));
            if (Files.isDirectory(group)) {
                found.add(group);
            }
        }
        return found.build();
    }

    /** Of several groups the one that has processes, else the first. */
    Optional<Path> current(WorkloadId id) throws IOException {
        ImmutableList<Path> existing = existing(id);
        for (Path group : existing) {
            if (!processes(group).isEmpty()) {
                return Optional.of(group);
            }
        }
        return existing.stream().findFirst();
    }

    /** The processes in this very group; none in one that is gone. */
    public static ImmutableList<Long> processes(Path group) throws IOException {
        Path file = group.resolve("cgroup.procs");
        try {
            return Files.readAllLines(file).stream().map(Long::valueOf).collect(ImmutableList.toImmutableList());
        } catch (NoSuchFileException e) {
            return ImmutableList.of();
        } catch (NumberFormatException e) {
            throw new IOException(file + " has something else than numbers of processes", e);
        } catch (IOException e) {
            // Removed between open and read: ENODEV, for which Java has no type.
            if (Files.notExists(group)) {
                return ImmutableList.of();
            }
            throw e;
        }
    }

    private ImmutableList<Path> places() {
        return ImmutableList.<Path>builder().add(home).addAll(elsewhere).build();
    }

    private static String name(WorkloadId id) {
        return id.kind().word() + "-" + id.name();
    }
}
