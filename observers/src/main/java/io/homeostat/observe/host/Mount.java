package io.homeostat.observe.host;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.limits.KernelFile;
import io.homeostat.observe.process.SystemCharset;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The mount that a file is on, as this process sees it (proc_pid_mounts(5)). {@link java.nio.file.FileStore} is of no use where there is
 * none to be seen, as in a chroot whose root is no mount point: there it fails for every file. How much room is left says
 * {@link java.io.File#getUsableSpace} everywhere.
 *
 * @param point where it is mounted
 * @param type of the file system, such as {@code ext4}
 */
public record Mount(Path point, String type, ImmutableSet<String> options) {
    private static final ImmutableSet<String> IN_MEMORY = ImmutableSet.of("tmpfs", "ramfs");

    /** How the kernel writes what would end a field. */
    private static final Pattern ESCAPED = Pattern.compile("\\\\([0-7]{3})");

    private static final int POINT = 1;
    private static final int TYPE = 2;
    private static final int OPTIONS = 3;

    /**
     * The mount that a file is on: the longest mount point above it, and of equals the last one; empty when none is to be seen.
     *
     * @param proc where /proc is
     * @throws IOException when there is no such file, or mounts can't be read
     */
    public static Optional<Mount> of(Path file, Path proc) throws IOException {
        Path real = file.toRealPath();
        return new String(KernelFile.bytes(proc.resolve("self/mounts")), SystemCharset.get())
                .lines()
                .map(line -> Splitter.on(' ').splitToList(line))
                .filter(fields -> fields.size() > OPTIONS)
                .flatMap(fields -> read(fields).stream())
                .filter(mount -> real.startsWith(mount.point))
                .reduce((best, next) -> next.point.getNameCount() >= best.point.getNameCount() ? next : best);
    }

    /** Empty when the point has a name that no path of ours can have. */
    private static Optional<Mount> read(List<String> fields) {
        String point = ESCAPED.matcher(fields.get(POINT))
                .replaceAll(escape ->
                        Character.toString(Integer.parseInt(escape.group(1), 8)).replace("\\", "\\\\"));
        return SystemCharset.problem(point).isEmpty()
                ? Optional.of(new Mount(
                        Path.of(point),
                        fields.get(TYPE),
                        Splitter.on(',').splitToStream(fields.get(OPTIONS)).collect(ImmutableSet.toImmutableSet())))
                : Optional.empty();
    }

    /** Whether what is written there is memory. */
    public boolean isInMemory() {
        return IN_MEMORY.contains(type);
    }

    public boolean isReadOnly() {
        return options.contains("ro");
    }

    /** Whether no program on it can be executed. */
    public boolean isNoExec() {
        return options.contains("noexec");
    }
}
