package io.homeostat.reconcile;

import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The control groups that a test's state directory has on this machine. */
public final class ControlGroups {
    private ControlGroups() {}

    /** Removes what is empty of them; the kernel lets nobody remove a group with a process in it. */
    public static void removeEmpty(Layout layout) {
        for (CgroupHierarchy hierarchy : CgroupLayout.detect(layout).hierarchies()) {
            if (hierarchy.isHomeOurs() && Files.isDirectory(hierarchy.home())) {
                try (Stream<Path> below = Files.walk(hierarchy.home())) {
                    List<Path> groups = below.filter(Files::isDirectory)
                            .sorted(Comparator.reverseOrder())
                            .toList();
                    for (Path group : groups) {
                        Files.delete(group);
                    }
                } catch (IOException e) {
                    // Something lives in it, or it went away by itself; whoever left a process behind is told by
                    // others.
                }
            }
        }
    }
}
