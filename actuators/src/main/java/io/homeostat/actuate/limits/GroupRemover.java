package io.homeostat.actuate.limits;

import com.google.common.base.Joiner;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removes the control groups of {@link LimitEnforcer} once nobody is in them. */
public final class GroupRemover {
    private static final Duration LEAVING_TIME = Duration.ofSeconds(1);
    private static final Duration LEAVING_POLL = Duration.ofMillis(20);

    /** Within this time, whoever has created a parent of groups has created the first group. */
    private static final Duration SETTLED = Duration.ofMinutes(1);

    private static final Logger LOG = LoggerFactory.getLogger(GroupRemover.class);

    private final CgroupLayout layout;
    private final ControlFiles files;

    public GroupRemover(CgroupLayout layout) {
        this(layout, ControlFiles.ofTheKernel());
    }

    GroupRemover(CgroupLayout layout, ControlFiles files) {
        this.layout = layout;
        this.files = files;
    }

    /**
     * Removes the groups of a workload, if there are any.
     *
     * @throws ActuationFailure when there are processes left
     */
    public void remove(WorkloadId id) throws ActuationFailure, InterruptedException {
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            for (Path group : hierarchy.existing(id)) {
                remove(group, id.brief());
            }
            if (hierarchy.isHomeOurs()) {
                removeHome(hierarchy);
            }
        }
    }

    /** Removes a group and those below it, if it exists. */
    void remove(Path group, String whose) throws ActuationFailure, InterruptedException {
        try {
            removeWhenLeft(group);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not remove the control group " + group + " of " + whose + occupants(group) + ": "
                            + Disk.reason(e),
                    false,
                    e);
        }
    }

    /**
     * Removes empty groups of unknown workloads, and empty parents of other agents, unless they are so young that somebody may be about
     * to use them.
     *
     * @param known workloads that have, or may get, processes
     */
    public void sweep(Set<WorkloadId> known, Instant now) {
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            for (Path group : hierarchy.strangers(known)) {
                try {
                    removeTree(group);
                    LOG.info("removed the control group {}: nobody is in it, and no such workload is known", group);
                } catch (IOException e) {
                    LOG.debug("the control group {} of no known workload stays: {}", group, Disk.reason(e));
                }
            }
            if (hierarchy.isHomeOurs()) {
                removeHome(hierarchy);
            }
            for (Path place : hierarchy.placesOfOthers(now.minus(SETTLED))) {
                removeIfEmpty(place);
            }
        }
    }

    /** The last workload's group takes the parent with it, and that of the keepers: while there is one its keeper may be about to enter. */
    private void removeHome(CgroupHierarchy hierarchy) {
        if (!hierarchy.isUsed()) {
            removeIfEmpty(hierarchy.keepers());
            removeIfEmpty(hierarchy.home());
        }
    }

    private void removeIfEmpty(Path home) {
        try {
            files.removeGroup(home);
        } catch (IOException e) {
            LOG.trace("{} is still used: {}", home, e.getMessage());
        }
    }

    /** A killed process leaves its group a moment after it has become invisible. */
    private void removeWhenLeft(Path group) throws IOException, InterruptedException {
        for (long looks = LEAVING_TIME.dividedBy(LEAVING_POLL); looks > 1; looks--) {
            try {
                removeTree(group);
                return;
            } catch (IOException e) {
                Thread.sleep(LEAVING_POLL);
            }
        }
        removeTree(group);
    }

    private void removeTree(Path group) throws IOException {
        try {
            files.removeGroup(group);
            return;
        } catch (FileSystemException e) {
            // Most have no groups below, and to look for them is to look at all of a group's files.
            LOG.trace("{} may have groups below it: {}", group, e.getMessage());
        }
        List<Path> groups;
        try (Stream<Path> all = Files.walk(group)) {
            groups = all.filter(Files::isDirectory)
                    .sorted(Comparator.reverseOrder())
                    .toList();
        } catch (NoSuchFileException e) {
            return;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        for (Path each : groups) {
            files.removeGroup(each);
        }
    }

    private static String occupants(Path group) {
        try {
            ImmutableList<Long> pids = CgroupHierarchy.processes(group);
            return pids.isEmpty()
                    ? ""
                    : ", in which are the processes " + Joiner.on(", ").join(pids)
                            + " (end them if they are not to run on)";
        } catch (IOException e) {
            return "";
        }
    }
}
