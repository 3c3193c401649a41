package io.homeostat.actuate.limits;

import io.homeostat.observe.limits.CgroupHierarchy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.LongPredicate;

/** Operations on control groups, cgroups(7); a test fakes the kernel. */
public interface ControlFiles {
    /** Processes forked while their parents are moved are moved in the next round. */
    int MOVING_ROUNDS = 10;

    /** Creates a group unless it exists. */
    void makeGroup(Path group) throws IOException;

    /** Writes to a file of a group, which the kernel takes as a command. */
    void write(Path file, String text) throws IOException;

    /** Removes a group without processes and subgroups, if it exists. */
    void removeGroup(Path group) throws IOException;

    /**
     * Moves processes to another group, those forked meanwhile, too.
     *
     * @param which of the processes
     * @return whether any was moved
     * @throws IOException when one stays where it is; one that has ended is none
     */
    default boolean move(Iterable<Path> from, Path to, LongPredicate which) throws IOException {
        boolean any = false;
        for (int round = 0; round < MOVING_ROUNDS; round++) {
            boolean moved = false;
            for (Path group : from) {
                for (long pid : CgroupHierarchy.processes(group)) {
                    if (!which.test(pid)) {
                        continue;
                    }
                    try {
                        write(to.resolve("cgroup.procs"), Long.toString(pid));
                        moved = true;
                    } catch (IOException e) {
                        if (CgroupHierarchy.processes(group).contains(pid)) {
                            throw e;
                        }
                    }
                }
            }
            if (!moved) {
                return any;
            }
            any = true;
        }
        return any;
    }

    /** The real ones. */
    static ControlFiles ofTheKernel() {
        return new ControlFiles() {
            @Override
            public void makeGroup(Path group) throws IOException {
                try {
                    Files.createDirectory(group);
                } catch (FileAlreadyExistsException e) {
                    if (!Files.isDirectory(group)) {
                        throw e;
                    }
                }
            }

            @Override
            public void write(Path file, String text) throws IOException {
                // Never created: a file that the kernel does not offer is an error.
                Files.write(
                        file,
                        text.getBytes(StandardCharsets.US_ASCII),
                        StandardOpenOption.WRITE,
                        StandardOpenOption.TRUNCATE_EXISTING);
            }

            @Override
            public void removeGroup(Path group) throws IOException {
                Files.deleteIfExists(group);
            }
        };
    }
}
