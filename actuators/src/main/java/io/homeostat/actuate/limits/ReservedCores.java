package io.homeostat.actuate.limits;

import com.google.common.base.Splitter;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskCgroups.Partition;
import io.homeostat.observe.limits.TaskGroupName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Processors that a task has for itself, divided as Nomad does it: its group in {@code reserve} has some, and {@code share}, in which all
 * other tasks are, has the rest, at least one. Which are taken is read from the groups, so that nothing has to be remembered.
 */
final class ReservedCores {
    private static final Logger LOG = LoggerFactory.getLogger(ReservedCores.class);
    private static final String CPUS = "cpuset.cpus";
    private static final String EFFECTIVE = "cpuset.cpus.effective";
    private static final String MEMS = "cpuset.mems";

    /** Two that choose at once would choose the same. */
    private static final Object TURN = new Object();

    private final TaskCgroups cgroups;
    private final ControlFiles files;

    ReservedCores(TaskCgroups cgroups, ControlFiles files) {
        this.cgroups = cgroups;
        this.files = files;
    }

    /**
     * Reserves processors for a task, in its group, which is made, too.
     *
     * @param partition whose group with all processors exists
     * @return why there are not so many to be had now; empty when they are reserved
     */
    Optional<String> reserve(Partition partition, TaskGroupName name, int count) throws IOException {
        Path own = cgroups.reserved(name).orElseThrow();
        synchronized (TURN) {
            BitSet all = all(partition);
            BitSet free = without(all, taken(partition, own));
            if (free.cardinality() <= count) {
                return Optional.of("of the " + all.cardinality() + " processors of tasks " + free.cardinality()
                        + " are free, and one of them stays with the tasks that reserve none");
            }
            make(partition, partition.reserve(), all);
            BitSet chosen = last(free, count);
            make(partition, own, chosen);
            if (taken(partition, own).intersects(chosen)) {
                // Another agent, or a Nomad client, was faster.
                files.removeGroup(own);
                return Optional.of("the processors " + text(chosen) + " were reserved by others at the same time");
            }
            share(partition);
            return Optional.empty();
        }
    }

    /** Lets the other tasks use what nobody has reserved. What somebody has made of it stays as long as nothing ever was reserved. */
    void share() throws IOException {
        Optional<Partition> partition = cgroups.partition();
        if (partition.isPresent()) {
            synchronized (TURN) {
                share(partition.get());
            }
        }
    }

    private void share(Partition partition) throws IOException {
        Path shared = partition.share().resolve(CPUS);
        if (Files.isDirectory(partition.reserve()) && Files.exists(shared)) {
            write(shared, without(all(partition), taken(partition, partition.share())));
        }
    }

    /** With processors and, where it needs that, memory. */
    private void make(Partition partition, Path group, BitSet processors) throws IOException {
        files.makeGroup(group);
        Path mems = group.resolve(MEMS);
        // In version 2 what is empty is inherited.
        if (Files.notExists(partition.whole().resolve(EFFECTIVE)) && read(mems).isEmpty()) {
            files.write(mems, read(partition.whole().resolve(MEMS)));
        }
        write(group.resolve(CPUS), processors);
    }

    private void write(Path file, BitSet processors) throws IOException {
        if (!parse(read(file)).equals(processors)) {
            files.write(file, text(processors));
        }
    }

    private static BitSet all(Partition partition) throws IOException {
        Path effective = partition.whole().resolve(EFFECTIVE);
        return parse(
                read(Files.exists(effective) ? effective : partition.whole().resolve(CPUS)));
    }

    /** By all tasks but the one with that group. */
    private static BitSet taken(Partition partition, Path own) throws IOException {
        BitSet taken = new BitSet();
        if (Files.isDirectory(partition.reserve())) {
            List<Path> groups;
            try (Stream<Path> below = Files.list(partition.reserve())) {
                groups = below.filter(Files::isDirectory)
                        .filter(group -> !group.equals(own))
                        .toList();
            }
            for (Path group : groups) {
                try {
                    taken.or(parse(read(group.resolve(CPUS))));
                } catch (NoSuchFileException e) {
                    LOG.debug("{} was removed meanwhile", group);
                }
            }
        }
        return taken;
    }

    private static BitSet without(BitSet some, BitSet others) {
        BitSet left = (BitSet) some.clone();
        left.andNot(others);
        return left;
    }

    /** The highest ones: the first processor does most of the kernel's own work. */
    private static BitSet last(BitSet some, int count) {
        BitSet last = new BitSet();
        int next = some.length();
        for (int i = 0; i < count; i++) {
            next = some.previousSetBit(next - 1);
            last.set(next);
        }
        return last;
    }

    /** A list as in cpuset(7): "0-2,7". */
    static BitSet parse(String list) throws IOException {
        BitSet numbers = new BitSet();
        try {
            for (String range :
                    Splitter.on(',').trimResults().omitEmptyStrings().split(list)) {
                List<String> ends = Splitter.on('-').splitToList(range);
                numbers.set(Integer.parseInt(ends.getFirst()), Integer.parseInt(ends.getLast()) + 1);
            }
            return numbers;
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            throw new IOException("not a list of processors: " + list, e);
        }
    }

    static String text(BitSet numbers) {
        List<String> ranges = new ArrayList<>();
        for (int from = numbers.nextSetBit(0); from >= 0; ) {
            int last = numbers.nextClearBit(from) - 1;
            ranges.add(from == last ? Integer.toString(from) : from + "-" + last);
            from = numbers.nextSetBit(last + 1);
        }
        return String.join(",", ranges);
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file).strip();
    }
}
