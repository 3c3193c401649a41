package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Containers that were given up, because their guest could not be asked when they had to end. They are noted beside its sandbox, for as long
 * as that is there, and removed when the guest can be asked again.
 */
final class LeftOvers {
    private static final Logger LOG = LoggerFactory.getLogger(LeftOvers.class);

    private final Layout layout;

    LeftOvers(Layout layout) {
        this.layout = layout;
    }

    private Path directory(Instance sandbox) {
        return layout.launch(sandbox.workload(), sandbox.launchId()).resolve("left-over");
    }

    /** The ids of them. */
    ImmutableList<String> in(Instance sandbox) throws IOException {
        try (Stream<Path> ids = Files.list(directory(sandbox))) {
            return ids.map(id -> id.getFileName().toString()).collect(ImmutableList.toImmutableList());
        } catch (NoSuchFileException e) {
            return ImmutableList.of();
        }
    }

    /** Notes one; nothing where its sandbox is forgotten, as it has ended with that. */
    void note(Instance sandbox, WorkloadId workload, String id) throws ActuationFailure {
        Path directory = directory(sandbox);
        try {
            try {
                Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(SecureDirectories.OURS));
            } catch (FileAlreadyExistsException e) {
                LOG.debug("{} is there", directory);
            }
            Files.writeString(directory.resolve(id), workload.toString());
        } catch (NoSuchFileException e) {
            LOG.debug("[{}] {} is not there any more", workload.brief(), directory);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not write down that " + workload.brief() + " was given up: " + Disk.reason(e), false, e);
        }
    }

    /** Removes those of one workload, of which there must not be another one before. */
    void removeOf(WorkloadId workload, Instance sandbox, GuestChanges changes)
            throws Refused, IOException, InterruptedException {
        for (String id : of(workload, sandbox)) {
            remove(id, sandbox, changes);
        }
    }

    /** The ids of those of one workload; others may be removed meanwhile. */
    ImmutableList<String> of(WorkloadId workload, Instance sandbox) throws IOException {
        ImmutableList.Builder<String> result = ImmutableList.builder();
        for (String id : in(sandbox)) {
            try {
                if (Files.readString(directory(sandbox).resolve(id)).equals(workload.toString())) {
                    result.add(id);
                }
            } catch (NoSuchFileException e) {
                LOG.debug("container {} was removed meanwhile", id);
            }
        }
        return result.build();
    }

    /** Removes all that can be; what can't is said. */
    void removeAll(Instance sandbox, GuestChanges changes) throws UnreachableGuest, InterruptedException {
        try {
            for (String id : in(sandbox)) {
                try {
                    remove(id, sandbox, changes);
                } catch (Refused e) {
                    LOG.warn(
                            "[{}] container {}, which was given up, is not removed yet: {}",
                            sandbox.workload().brief(),
                            id,
                            e.words());
                }
            }
        } catch (UnreachableGuest e) {
            throw e;
        } catch (IOException e) {
            LOG.debug("[{}] {}", sandbox.workload().brief(), e.getMessage());
        }
    }

    private void remove(String id, Instance sandbox, GuestChanges changes)
            throws Refused, IOException, InterruptedException {
        try {
            changes.killAll(id);
        } catch (Refused e) {
            LOG.debug("container {}: {}", id, e.words());
        }
        try {
            changes.removeContainer(id);
        } catch (Refused e) {
            if (e.kind() != GuestFailure.Kind.NO_CONTAINER) {
                throw e;
            }
        }
        Files.deleteIfExists(directory(sandbox).resolve(id));
    }
}
