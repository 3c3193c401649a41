package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

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

    /** How {@link CgroupLayout#detect(io.homeostat.desired.platform.Layout)} names the places of who keeps state in an unusual directory. */
    private static final Pattern OF_OTHERS = Pattern.compile("homeostat-[0-9a-f]{8}(\\.slice)?");

    public enum Version {
        V1,
        V2
    }

    /** Whether the place where groups are made was made by us, and not given to us. */
    public boolean isHomeOurs() {
        return enabling.isEmpty() || !enabling.getFirst().equals(home);
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

    /** Why no groups can be made here; empty when it seems that they can. */
    Optional<String> obstacle() {
        Path made = home;
        while (Files.notExists(made) && made.getParent() != null) {
            made = made.getParent();
        }
        return Files.isWritable(made) ? Optional.empty() : Optional.of(made + " may not be written to");
    }

    /** Whether a process is in one of these groups, or in one that the workload made itself below them. */
    public boolean isIn(ImmutableList<Path> groups, long pid) throws IOException {
        for (Path group : groups) {
            // Most workloads make none: walking is for the rest.
            if (processes(group).contains(pid) || members(group).contains(pid)) {
                return true;
            }
        }
        return false;
    }

    /** The processes in a group and in all below it. */
    static ImmutableSortedSet<Long> members(Path group) throws IOException {
        ImmutableSortedSet.Builder<Long> pids = ImmutableSortedSet.naturalOrder();
        try (Stream<Path> groups = Files.walk(group)) {
            for (Path each : groups.filter(Files::isDirectory).toList()) {
                pids.addAll(processes(each));
            }
        } catch (NoSuchFileException e) {
            return pids.build();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return pids.build();
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

    /** The groups that are named as those of workloads, but of none of these. */
    public ImmutableList<Path> strangers(Set<WorkloadId> known) {
        ImmutableList.Builder<Path> found = ImmutableList.builder();
        for (Path place : places()) {
            for (Path group : below(place)) {
                Optional<WorkloadId> id = id(group);
                if (id.isPresent() && !known.contains(id.get())) {
                    found.add(group);
                }
            }
        }
        return found.build();
    }

    /** Where others of us, who keep their state elsewhere, had their groups before some time. */
    public ImmutableList<Path> placesOfOthers(Instant before) {
        Path above = home.getParent();
        if (above == null || !isHomeOurs()) {
            return ImmutableList.of();
        }
        return below(above).stream()
                .filter(place ->
                        !place.equals(home) && OF_OTHERS.matcher(last(place)).matches() && isFrom(place, before))
                .collect(ImmutableList.toImmutableList());
    }

    /** The groups right below one; none when they can't be seen. */
    private static ImmutableList<Path> below(Path place) {
        try (Stream<Path> all = Files.list(place)) {
            return all.filter(path -> Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS))
                    .collect(ImmutableList.toImmutableList());
        } catch (IOException | UncheckedIOException e) {
            return ImmutableList.of();
        }
    }

    private static boolean isFrom(Path place, Instant before) {
        try {
            return Files.getLastModifiedTime(place).toInstant().isBefore(before);
        } catch (IOException e) {
            return false;
        }
    }

    private static Optional<WorkloadId> id(Path group) {
        String name = last(group);
        int dash = name.indexOf('-');
        return dash < 0
                ? Optional.empty()
                : WorkloadId.parse(name.substring(0, dash) + "/" + name.substring(dash + 1))
                        .filter(id -> name(id).equals(name));
    }

    private static String last(Path path) {
        return String.valueOf(path.getFileName());
    }

    private ImmutableList<Path> places() {
        return ImmutableList.<Path>builder().add(home).addAll(elsewhere).build();
    }

    private static String name(WorkloadId id) {
        return id.kind().word() + "-" + id.name();
    }
}
