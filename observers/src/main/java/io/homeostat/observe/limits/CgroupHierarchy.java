package io.homeostat.observe.limits;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * One hierarchy of control groups, in which each workload has a group.
 *
 * @param controllers the ones of this hierarchy that we use
 * @param home where groups are made
 * @param elsewhere where an agent or a command that ran in another place may have made groups
 * @param enabling the groups above a workload's group that have to pass the controllers down, from the top; empty in version 1
 */
public record CgroupHierarchy(
        Version version,
        ImmutableSet<Controller> controllers,
        Path home,
        ImmutableList<Path> elsewhere,
        ImmutableList<Path> enabling) {

    /**
     * How {@link CgroupLayout#detect(io.homeostat.desired.platform.Layout)} names the parent group of an agent with an unusual state
     * directory.
     */
    private static final Pattern OF_OTHERS = Pattern.compile("homeostat-[0-9a-f]{8}(\\.slice)?");

    /** Its name and its own dot; each group below adds its two dots. Where directories count none this is never the number. */
    private static final int LINKS_OF_A_LEAF = 2;

    public enum Version {
        V1,
        V2
    }

    /** Whether we created the parent of the groups, rather than being given it. */
    public boolean isHomeOurs() {
        return enabling.isEmpty() || !enabling.getFirst().equals(home);
    }

    /** Where a workload's group is created. */
    public Path group(WorkloadId id) {
        return home.resolve(name(id));
    }

    /** Where the shells are that wait for the processes of workloads: in no workload's group, nor in the agent's. */
    public Path keepers() {
        return home.resolve("keepers");
    }

    /** Whether there is any other group than that of the keepers. */
    public boolean isUsed() {
        return below(home).stream().anyMatch(group -> !group.equals(keepers()));
    }

    /** The group that a process is in, by a line of its /proc/PID/cgroup: HIERARCHY:CONTROLLERS:PATH, without controllers in version 2. */
    Optional<Path> group(String line) {
        List<String> fields = Splitter.on(':').limit(3).splitToList(line);
        if (fields.size() < 3) {
            return Optional.empty();
        }
        boolean same = version == Version.V2
                ? fields.get(1).isEmpty()
                : Splitter.on(',')
                        .splitToStream(fields.get(1))
                        .anyMatch(word -> controllers.stream()
                                .anyMatch(controller -> controller.word().equals(word)));
        Path top = home;
        for (Path above = top.getParent();
                above != null && Files.exists(above.resolve(CgroupLayout.PROCS));
                above = above.getParent()) {
            top = above;
        }
        return same ? Optional.of(top.resolve(fields.get(2).substring(1))) : Optional.empty();
    }

    /** The groups of a workload that exist; more than one only after the parent has changed. */
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

    /** Why groups cannot be created here; empty when it seems that they can. */
    Optional<String> obstacle() {
        Path made = home;
        while (Files.notExists(made) && made.getParent() != null) {
            made = made.getParent();
        }
        return Files.isWritable(made) ? Optional.empty() : Optional.of(made + " may not be written to");
    }

    /** Whether a process is in one of these groups, or in one that the workload created below them. */
    public boolean isIn(ImmutableList<Path> groups, long pid) throws IOException {
        for (Path group : groups) {
            // Most workloads create none; only for the rest the groups are walked.
            if (processes(group).contains(pid) || members(group).contains(pid)) {
                return true;
            }
        }
        return false;
    }

    /** The processes in a group and everything below it. */
    static ImmutableSortedSet<Long> members(Path group) throws IOException {
        if (hasNoneBelow(group)) {
            return ImmutableSortedSet.copyOf(processes(group));
        }
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

    /** Walking a group asks each of its files what it is, of which there are dozens; its count of links tells as much at once. */
    private static boolean hasNoneBelow(Path group) throws IOException {
        try {
            return (int) Files.getAttribute(group, "unix:nlink") == LINKS_OF_A_LEAF;
        } catch (NoSuchFileException e) {
            return true;
        }
    }

    /** The first group that has processes, else the first one. */
    Optional<Path> current(WorkloadId id) throws IOException {
        ImmutableList<Path> existing = existing(id);
        if (existing.size() <= 1) {
            return existing.stream().findFirst();
        }
        for (Path group : existing) {
            if (!processes(group).isEmpty()) {
                return Optional.of(group);
            }
        }
        return existing.stream().findFirst();
    }

    /** The processes directly in this group; none when it is gone. */
    public static ImmutableList<Long> processes(Path group) throws IOException {
        Path file = group.resolve("cgroup.procs");
        try {
            return new String(KernelFile.bytes(file), StandardCharsets.US_ASCII)
                    .lines()
                    .map(Long::valueOf)
                    .collect(ImmutableList.toImmutableList());
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

    /** Groups named like those of workloads, except those of these workloads. */
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

    /** Parents of groups of agents with other state directories, if they are older than this. */
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

    /** The groups directly below one; none when they cannot be seen. */
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
                : Kind.ofWord(name.substring(0, dash))
                        .flatMap(kind -> Layout.workload(kind, name.substring(dash + 1)))
                        .filter(id -> name(id).equals(name));
    }

    private static String last(Path path) {
        return String.valueOf(path.getFileName());
    }

    private ImmutableList<Path> places() {
        return ImmutableList.<Path>builder().add(home).addAll(elsewhere).build();
    }

    private static String name(WorkloadId id) {
        return id.kind().word() + "-" + Layout.directoryName(id);
    }
}
