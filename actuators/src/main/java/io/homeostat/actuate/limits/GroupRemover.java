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

/** Removes control groups that {@link LimitEnforcer} has made, once nobody is in them. */
public final class GroupRemover {
    private static final Duration LEAVING_TIME = Duration.ofSeconds(1);
    private static final Duration LEAVING_POLL = Duration.ofMillis(20);

    /** In this time whoever has made a place for groups has made the first one. */
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
     * Removes the groups of a workload that has no process any more; nothing there is fine.
     *
     * @throws ActuationFailure when there still are processes
     */
    public void remove(WorkloadId id) throws ActuationFailure, InterruptedException {
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            for (Path group : hierarchy.existing(id)) {
                try {
                    removeWhenLeft(group);
                } catch (IOException e) {
                    throw new ActuationFailure(
                            "could not remove the control group " + group + " of " + id + occupants(group) + ": "
                                    + Disk.reason(e),
                            false,
                            e);
                }
            }
            if (hierarchy.isHomeOurs()) {
                removeIfEmpty(hierarchy.home());
            }
        }
    }

    /**
     * Removes groups that nobody is in: of workloads that are not known any more, and the empty places of others of us, unless they are
     * so young that somebody may be about to make a group there.
     *
     * @param known workloads that may have processes, or get some
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
                removeIfEmpty(hierarchy.home());
            }
            for (Path place : hierarchy.placesOfOthers(now.minus(SETTLED))) {
                removeIfEmpty(place);
            }
        }
    }

    /** With the last workload goes the place of all. */
    private void removeIfEmpty(Path home) {
        try {
            files.removeGroup(home);
        } catch (IOException e) {
            LOG.trace("{} is still used: {}", home, e.getMessage());
        }
    }

    /** A process that was killed leaves its group a moment after it can't be seen any more. */
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
                    : ", in which are the processes " + Joiner.on(", ").join(pids);
        } catch (IOException e) {
            return "";
        }
    }
}
