package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The control groups that a test's state directory has on this machine: in each hierarchy one or two, named after the directory. */
public final class ControlGroups {
    private static final Path ROOT = Path.of("/sys/fs/cgroup");

    private ControlGroups() {}

    /** What is frozen in containers of {@code homeostat guest} would not die with its machine. */
    static void thaw(Path stateDir) throws IOException {
        Path home = ROOT.resolve("freezer").resolve(name(stateDir) + "-guest");
        if (Files.isDirectory(home)) {
            try (Stream<Path> groups = Files.list(home)) {
                for (Path group : groups.filter(Files::isDirectory).toList()) {
                    Files.writeString(group.resolve("freezer.state"), "THAWED");
                    eventually()
                            .until(() -> Files.readString(group.resolve("cgroup.procs"))
                                    .isEmpty());
                }
            }
        }
    }

    private static String name(Path stateDir) {
        return "homeostat-"
                + Hashes.sha256(stateDir.toString().getBytes(StandardCharsets.UTF_8))
                        .substring(0, 8);
    }

    /** Removes what is empty of them; the kernel lets nobody remove a group with a process in it. */
    public static void removeEmpty(Path stateDir) {
        String name = name(stateDir);
        try (Stream<Path> hierarchies = Files.list(ROOT)) {
            Stream.concat(Stream.of(ROOT), hierarchies)
                    .flatMap(hierarchy -> Stream.of(hierarchy.resolve(name), hierarchy.resolve(name + "-guest")))
                    .filter(Files::isDirectory)
                    .forEach(ControlGroups::remove);
        } catch (IOException e) {
            // Without control groups there is nothing to remove.
        }
    }

    /**
     * Those of a task that exist, the one that decides who belongs to it first; none where this machine has no control groups.
     *
     * @param directory of the task, in that of its allocation
     */
    static List<Path> ofTask(Path directory) {
        String name = directory.getName(directory.getNameCount() - 2) + "." + directory.getFileName();
        return Stream.of("freezer", "cpu", "memory", "")
                .map(ROOT::resolve)
                .flatMap(hierarchy -> Stream.of(
                        hierarchy.resolve("nomad").resolve(name),
                        hierarchy.resolve("nomad.slice/share").resolve(name + ".scope")))
                .filter(Files::isDirectory)
                .toList();
    }

    private static void remove(Path home) {
        try (Stream<Path> below = Files.walk(home)) {
            List<Path> groups = below.filter(Files::isDirectory)
                    .sorted(Comparator.reverseOrder())
                    .toList();
            for (Path group : groups) {
                Files.delete(group);
            }
        } catch (IOException e) {
            // Something lives in it, and is told as a process that is left.
        }
    }
}
