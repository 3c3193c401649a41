package io.homeostat.desired.platform;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Range;
import com.google.common.collect.RangeSet;
import com.google.common.collect.TreeRangeSet;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;

/** Numbers of users or groups that exist in a user namespace, user_namespaces(7): the kernel gives no file to any other. */
public final class MappedNumbers {
    private static final Splitter BLANKS = Splitter.on(' ').omitEmptyStrings();

    /** The table of a machine without user namespaces; the last number, -1, is nobody's. */
    private static final String ALL = "0 0 4294967295";

    private final ImmutableList<Range<Long>> fromTheTop;

    private MappedNumbers(ImmutableList<Range<Long>> fromTheTop) {
        this.fromTheTop = fromTheTop;
    }

    /** Returns the numbers of users in the namespace of this process. */
    public static MappedNumbers users() throws IOException {
        return read(Path.of("/proc/self/uid_map"));
    }

    /** Returns the numbers of groups in the namespace of this process. */
    public static MappedNumbers groups() throws IOException {
        return read(Path.of("/proc/self/gid_map"));
    }

    private static MappedNumbers read(Path map) throws IOException {
        try {
            return parse(Files.readString(map, StandardCharsets.US_ASCII));
        } catch (NoSuchFileException e) {
            // The kernel has no user namespaces.
            return parse(ALL);
        }
    }

    /**
     * Parses a map.
     *
     * @param map as the kernel shows it: in each line the first number, the one outside, and how many there are
     */
    public static MappedNumbers parse(String map) {
        RangeSet<Long> ranges = TreeRangeSet.create();
        for (String line : map.lines().toList()) {
            List<String> fields = BLANKS.splitToList(line);
            long first = Long.parseLong(fields.getFirst());
            ranges.add(Range.closedOpen(first, first + Long.parseLong(fields.getLast())));
        }
        return new MappedNumbers(ImmutableList.copyOf(ranges.asDescendingSetOfRanges()));
    }

    public boolean contains(long number) {
        return fromTheTop.stream().anyMatch(range -> range.contains(number));
    }

    /** Returns the numbers up to this one, the highest first. */
    public LongStream downFrom(long highest) {
        return fromTheTop.stream()
                .flatMapToLong(range -> LongStream.iterate(
                        Math.min(range.upperEndpoint() - 1, highest),
                        number -> number >= range.lowerEndpoint(),
                        number -> number - 1));
    }
}
