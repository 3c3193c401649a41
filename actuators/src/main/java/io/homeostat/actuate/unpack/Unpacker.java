package io.homeostat.actuate.unpack;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.Interruption;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.archive.ArchiveFormat;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.unpack.StagedTree.EntryPoint;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.observe.install.InstallationObserver;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns an archive of the cache into an installation. It is unpacked out of sight, made durable, marked as complete and moved into place
 * with one rename, so a visible installation is complete, even after a crash or power failure.
 */
public final class Unpacker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Unpacker.class);
    /** An archive with so many entries takes about a megabyte, most of it for buffers. */
    private static final int FEW_ENTRIES = 250;

    private static final int FEW_AT_ONCE = 40;

    /**
     * An entry takes some 500 bytes of the heap until its archive is unpacked, and one of a zip three times as much: those of these take 15 MB
     * together, beside up to 130 MB of one archive with more.
     */
    private static final int SOME_AT_ONCE = 2;

    private static final Duration KEEP_EARLY_TREES = Duration.ofMinutes(1);

    private final Layout layout;
    private final Supplier<UnpackLimits> limits;
    private final Disk disk;
    private final ArchiveStore archives;
    private final EarlyTrees earlyTrees;
    private final ImmutableList<Turns> turns;
    private final ReentrantLock large;

    /** The turns of archives that have so many entries at most, of which so many are unpacked at once. */
    private record Turns(int entries, Semaphore atOnce) {}

    /** @param limits asked for each archive, since the configuration can change */
    public Unpacker(Layout layout, Supplier<UnpackLimits> limits) {
        this(layout, limits, new LocalDisk());
    }

    public Unpacker(Layout layout, Supplier<UnpackLimits> limits, Disk disk) {
        this(layout, limits, disk, EarlyTrees.MAX_ENTRIES, new ReentrantLock(true));
    }

    /** @param large held while an archive of many entries is unpacked, and by whoever else needs much memory */
    public Unpacker(Layout layout, Supplier<UnpackLimits> limits, ReentrantLock large) {
        this(layout, limits, new LocalDisk(), EarlyTrees.MAX_ENTRIES, large);
    }

    /** @param manyEntries archives with more are unpacked one after the other */
    Unpacker(Layout layout, Supplier<UnpackLimits> limits, Disk disk, int manyEntries, ReentrantLock large) {
        this.turns = ImmutableList.of(
                new Turns(Math.min(FEW_ENTRIES, manyEntries), new Semaphore(FEW_AT_ONCE, true)),
                new Turns(manyEntries, new Semaphore(SOME_AT_ONCE, true)));
        this.large = large;
        this.layout = layout;
        this.limits = limits;
        this.disk = disk;
        this.archives = new ArchiveStore(layout, disk);
        this.earlyTrees = new EarlyTrees(layout, disk, KEEP_EARLY_TREES, large);
    }

    /**
     * Unpacks an archive while it is being downloaded, beside the caller, so that {@link #unpack} finds it done. Nothing of it is seen before
     * that, and nothing is said of what fails.
     */
    public void unpackEarly(WorkloadId id, ArrivingArchive archive) {
        earlyTrees.begin(archive, layout.installs(id), limits.get());
    }

    /**
     * Unpacks an archive unless that has been done.
     *
     * @param directory name of the installation, see {@link Layout#installName}
     * @param entryPoint the program that must be in the archive, relative to its root; null when nothing of it is executed
     * @throws ActuationFailure when the archive is refused, its cause then being {@link RefusedArchive}, or cannot be unpacked; nothing of
     *     it is left
     * @throws InterruptedException when interrupted; what is left is invisible and removed by the next attempt
     */
    public void unpack(WorkloadId id, String key, String revision, String directory, @Nullable String entryPoint)
            throws ActuationFailure, InterruptedException {
        ArchiveStore.check(key);
        if (!InstallationMarker.isDirectoryOf(id, directory)) {
            throw new IllegalArgumentException("'" + directory + "' is not a directory of " + id);
        }
        String what = "unpacking revision " + BriefText.of(revision) + " of " + id.brief();
        try {
            if (isInstalled(id, key, revision, directory, what)) {
                disk.syncDirectory(layout.installs(id));
                return;
            }
            if (!archives.has(key)) {
                throw new ActuationFailure(
                        FailureCause.Kind.FILE_MISSING,
                        what + " failed: its archive " + layout.archive(key)
                                + " is not there; it has to be downloaded again",
                        false);
            }
            install(id, key, revision, directory, entryPoint, what);
        } catch (ClosedByInterruptException e) {
            throw Interruption.of(e);
        } catch (InterruptedIOException e) {
            boolean _ = Thread.interrupted();
            throw new InterruptedException(what + " was interrupted");
        } catch (IOException e) {
            throw new ActuationFailure(
                    what + " failed: " + Disk.reason(e) + (Disk.isFull(e) ? "; free some space" : ""), false, e);
        }
    }

    private boolean isInstalled(WorkloadId id, String key, String revision, String directory, String what)
            throws IOException, ActuationFailure {
        Path place = layout.install(id, directory);
        if (!Files.exists(place, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Optional<InstallationMarker> marker = InstallationObserver.marker(place);
        if (marker.isEmpty() || !marker.get().id().equals(id)) {
            throw new ActuationFailure(
                    FailureCause.Kind.FILE_IN_THE_WAY,
                    what + " failed: " + place + " is there and is not an installation of Homeostat; move it away",
                    false);
        }
        Installation there = marker.get().installation();
        if (!there.satisfies(revision, key)) {
            throw new ActuationFailure(
                    FailureCause.Kind.FILE_IN_THE_WAY,
                    what + " failed: " + place + " is revision " + there.revision() + " from another archive, "
                            + there.key() + "; it has to be removed first",
                    false);
        }
        return true;
    }

    private void install(
            WorkloadId id, String key, String revision, String directory, @Nullable String entryPoint, String what)
            throws IOException, ActuationFailure, InterruptedException {
        Path staging = layout.staging(id);
        Path staged = staging.resolve(directory);
        disk.deleteTree(staging);
        disk.makeDirectories(staging);
        try {
            String files = fill(staged, key, entryPoint, what);
            Installation installation = new Installation(directory, revision, key, archives.sha256(key));
            InstallationMarker marker = new InstallationMarker(id, installation, files);
            disk.write(staged.resolve(InstallationMarker.FILE), marker.toJson());
            requireWhole(staged, marker, what);
            disk.rename(staged, layout.install(id, directory));
        } catch (ClosedByInterruptException | InterruptedIOException e) {
            // Stops at once; the next attempt removes what is there.
            throw e;
        } catch (ActuationFailure | IOException e) {
            try {
                disk.deleteTree(staging);
            } catch (IOException left) {
                e.addSuppressed(left);
            }
            throw e;
        }
        disk.deleteIfEmpty(staging);
    }

    /** An installation that is damaged from the beginning would be repaired, which is to unpack it again, for ever. */
    private void requireWhole(Path staged, InstallationMarker marker, String what)
            throws IOException, ActuationFailure {
        Optional<String> damage = InstallationObserver.damage(staged, marker);
        if (damage.isPresent()) {
            throw new ActuationFailure(
                    FailureCause.Kind.INPUT_OUTPUT,
                    what + " failed: its files were changed as soon as they were written: " + damage.get()
                            + "; keep other programs, such as virus scanners, out of "
                            + layout.installs(marker.id()),
                    false);
        }
    }

    /** @return the hash of the list of the contents */
    private String fill(Path staged, String key, @Nullable String entryPoint, String what)
            throws IOException, ActuationFailure, InterruptedException {
        try {
            Optional<UnpackedTree> early = earlyTrees.take(key);
            return early.isPresent() && isMoved(early.get(), staged)
                    ? files(early.get(), entryPoint, what)
                    : fromCache(key, staged, entryPoint, what);
        } catch (RefusedArchive e) {
            throw unusable(key, what + " failed: the archive is refused: " + e.problem(), e);
        } catch (DamagedArchive e) {
            throw unusable(key, what + " failed: the archive is damaged: " + Disk.reason(e), e);
        }
    }

    private static String files(UnpackedTree tree, @Nullable String entryPoint, String what)
            throws ActuationFailure, RefusedArchive {
        Optional<String> problem = entryPoint == null ? Optional.empty() : EntryPoint.problem(tree.nodes(), entryPoint);
        if (problem.isPresent()) {
            throw new ActuationFailure(
                    FailureCause.of(FailureCause.Kind.ENTRY_POINT),
                    what + " failed: " + problem.get(),
                    true,
                    new RefusedArchive(problem.get()));
        }
        return tree.files();
    }

    /** Whether a tree, which is durable, is there for good now; it can't be moved between two mounts of one file system, for example. */
    private boolean isMoved(UnpackedTree early, Path staged) throws IOException {
        try {
            disk.rename(early.root(), staged);
            return true;
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            LOG.debug("{} is unpacked again", staged, e);
            disk.deleteTree(early.root());
            disk.deleteTree(staged);
            return false;
        }
    }

    /**
     * How many entries an archive has is known only when it is unpacked. One that has more than others of its turn may begins again in the next,
     * so that small ones do not wait for large ones.
     */
    private String fromCache(String key, Path staged, @Nullable String entryPoint, String what)
            throws IOException, ActuationFailure, RefusedArchive, InterruptedException {
        UnpackLimits all = limits.get();
        for (Turns turn : turns) {
            UnpackLimits some = all.withEntries(turn.entries());
            UnpackBudget budget = budget(some, key, staged);
            turn.atOnce().acquire();
            try {
                return fromCache(key, staged, budget, entryPoint, what);
            } catch (RefusedArchive e) {
                if (!budget.isExceeded() || some.equals(all)) {
                    throw e;
                }
            } finally {
                turn.atOnce().release();
            }
            disk.deleteTree(staged);
        }
        large.lockInterruptibly();
        try {
            return fromCache(key, staged, budget(all, key, staged), entryPoint, what);
        } finally {
            large.unlock();
        }
    }

    private UnpackBudget budget(UnpackLimits bounds, String key, Path staged) throws IOException {
        return new UnpackBudget(bounds, Files.size(layout.archive(key)), () -> disk.usableBytes(staged));
    }

    private String fromCache(String key, Path staged, UnpackBudget budget, @Nullable String entryPoint, String what)
            throws IOException, ActuationFailure, RefusedArchive, InterruptedException {
        disk.makeDirectories(staged);
        return files(
                UnpackedTree.of((tree, bounds) -> read(layout.archive(key), tree, bounds), staged, budget, disk),
                entryPoint,
                what);
    }

    private static void read(Path archive, StagedTree tree, UnpackBudget budget)
            throws IOException, RefusedArchive, InterruptedException {
        byte[] head = ArchiveFormat.head(archive);
        ArchiveFormat format = ArchiveFormat.of(head).orElseThrow(() -> UnpackedTree.noArchive(head));
        switch (format) {
            case TAR_GZ -> TarReader.readGzip(Files.newInputStream(archive), tree, budget);
            case TAR -> TarReader.readPlain(Files.newInputStream(archive), tree, budget);
            case ZIP -> ZipReader.read(archive, tree, budget);
        }
    }

    /**
     * A defect of an archive is final when its checksum was declared. Otherwise a better one may by now be published under the same URL,
     * and a cached one that changed on disk is useless either way: both are fetched again.
     */
    private ActuationFailure unusable(String key, String problem, Exception cause) throws IOException {
        if (ArchiveStore.isVerified(key) && archives.isIntact(key)) {
            return new ActuationFailure(
                    FailureCause.of(FailureCause.Kind.ARCHIVE),
                    problem + "; publish a correct archive and declare its checksum",
                    true,
                    cause);
        }
        archives.delete(key);
        return new ActuationFailure(
                FailureCause.of(FailureCause.Kind.ARCHIVE),
                problem + "; it has been removed from the cache and is fetched again",
                false,
                cause);
    }

    /** Breaks off what is being unpacked early, and leaves nothing of it behind. */
    @Override
    public void close() {
        earlyTrees.close();
    }
}
