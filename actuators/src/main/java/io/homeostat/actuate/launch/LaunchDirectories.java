package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchNote;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes and removes our notes on launches, which {@link LaunchDirectory} reads. {@link LaunchNote} says what they are for. */
public final class LaunchDirectories {
    private static final Logger LOG = LoggerFactory.getLogger(LaunchDirectories.class);

    private final Layout layout;
    private final ProcFs procFs;
    private final Disk disk = new LocalDisk();

    public LaunchDirectories(Layout layout, ProcFs procFs) {
        this.layout = layout;
        this.procFs = procFs;
    }

    public LaunchDirectory of(Instance instance) {
        return new LaunchDirectory(layout.launch(instance.workload(), instance.launchId()));
    }

    /**
     * Records what is known of a launch, for as long as this boot lasts: after a power failure nothing is there to be adopted. Called again when a plugin was started or has accepted a
     * configuration, so that a later agent can adopt the plugin without its database.
     */
    public void write(Instance instance) throws ActuationFailure {
        LaunchDirectory directory = of(instance);
        try {
            SecureDirectories.createUnsynced(directory.path(), SecureDirectories.OURS);
            String bootId = directory.note().map(LaunchNote::bootId).orElse(null);
            LaunchNote note = new LaunchNote(instance, bootId == null ? procFs.bootId() : bootId);
            disk.replace(directory.noteFile(), note.toJson().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not write down the launch of " + instance.workload().brief() + " in " + directory.path()
                            + ": " + Disk.reason(e),
                    false,
                    e);
        }
    }

    /**
     * Makes a file in a launch's directory whose being there says something. Made once; a crash before leads to what it is about being done
     * again.
     */
    public static void mark(Path file, Instance instance) throws ActuationFailure {
        try {
            Files.createFile(file);
        } catch (FileAlreadyExistsException | NoSuchFileException e) {
            LOG.debug("{} is there, or its launch is forgotten", file);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not write down how far " + instance.workload().brief() + " is: " + Disk.reason(e), false, e);
        }
    }

    /** The revisions in a workload's notes on launches; unreadable notes are skipped. */
    public ImmutableSet<String> revisions(WorkloadId id) throws IOException {
        ImmutableSet.Builder<String> revisions = ImmutableSet.builder();
        for (String launchId : noted(id)) {
            try {
                new LaunchDirectory(layout.launch(id, launchId))
                        .note()
                        .map(LaunchNote::instance)
                        .filter(instance -> instance.workload().equals(id))
                        .map(Instance::revision)
                        .filter(revision -> revision.indexOf('/') < 0)
                        .ifPresent(revisions::add);
            } catch (IOException e) {
                LOG.debug("[{}] {}", id, e.getMessage());
            }
        }
        return revisions.build();
    }

    /** The launches of a workload that have notes; other files beside them are not ours. */
    public ImmutableList<String> noted(WorkloadId id) throws IOException {
        ImmutableList.Builder<String> launchIds = ImmutableList.builder();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(layout.launches(id))) {
            for (Path entry : entries) {
                if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    launchIds.add(String.valueOf(entry.getFileName()));
                }
            }
        } catch (NoSuchFileException e) {
            return ImmutableList.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return launchIds.build();
    }

    /** The launches of a workload of which only the notes are left, because a database was lost. */
    public ImmutableList<Instance> forgotten(WorkloadId id, Collection<Instance> remembered) throws IOException {
        ImmutableSet<String> known = remembered.stream().map(Instance::launchId).collect(ImmutableSet.toImmutableSet());
        ImmutableList.Builder<Instance> forgotten = ImmutableList.builder();
        for (String launchId : noted(id)) {
            if (!known.contains(launchId)) {
                new LaunchDirectory(layout.launch(id, launchId))
                        .note()
                        .map(LaunchNote::instance)
                        .ifPresent(forgotten::add);
            }
        }
        return forgotten.build();
    }

    /** A launch of a workload; one that is not remembered is only noted here. */
    public record Launch(Instance instance, boolean remembered) {}

    /**
     * The launches of a workload that there may be anything of, the oldest first.
     *
     * @param alive those that are not over
     * @param stored these, and those that are: what is left of them is no launch that the database has lost
     */
    public ImmutableList<Launch> launches(WorkloadId id, Collection<Instance> alive, Collection<Instance> stored)
            throws IOException {
        return Stream.concat(
                        alive.stream().map(instance -> new Launch(instance, true)),
                        forgotten(id, stored).stream().map(instance -> new Launch(instance, false)))
                .sorted(Comparator.comparing(launch -> launch.instance().launchedAt()))
                .collect(ImmutableList.toImmutableList());
    }

    /** With the identity that its launch has noted before we died; as it is when there is none. */
    public Instance completed(Instance instance) throws IOException {
        return of(instance)
                .note()
                .map(LaunchNote::instance)
                .map(Instance::identity)
                .map(instance::withIdentity)
                .orElse(instance);
    }

    /** All launches of workloads of a kind of which there is anything. */
    public ImmutableListMultimap<WorkloadId, LaunchDirectory> all(Kind kind) throws IOException {
        ImmutableListMultimap.Builder<WorkloadId, LaunchDirectory> launches = ImmutableListMultimap.builder();
        try (DirectoryStream<Path> workloads = Files.newDirectoryStream(layout.launches(kind), Files::isDirectory)) {
            for (Path workload : workloads) {
                Optional<WorkloadId> id = Layout.workload(kind, String.valueOf(workload.getFileName()));
                if (id.isPresent()) {
                    for (String launchId : noted(id.get())) {
                        launches.put(id.get(), new LaunchDirectory(layout.launch(id.get(), launchId)));
                    }
                }
            }
        } catch (NoSuchFileException e) {
            return ImmutableListMultimap.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return launches.build();
    }

    /** Removes the notes on a launch whose exit is stored, if there are any. */
    public void forget(WorkloadId id, String launchId) throws ActuationFailure {
        LaunchDirectory directory = new LaunchDirectory(layout.launch(id, launchId));
        if (Files.isSymbolicLink(directory.path())) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory.path())) {
            for (Path file : files) {
                // Last, because while it exists an interrupted removal is noticed and repeated.
                if (!file.equals(directory.noteFile())) {
                    HostileTree.delete(file);
                }
            }
            Files.deleteIfExists(directory.noteFile());
            Files.deleteIfExists(directory.path());
        } catch (NoSuchFileException e) {
            return;
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not remove the notes on a launch of " + id.brief() + " in " + directory.path() + ": "
                            + Disk.reason(e),
                    false,
                    e);
        }
    }
}
