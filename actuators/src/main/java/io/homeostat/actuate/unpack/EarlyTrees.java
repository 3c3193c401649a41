package io.homeostat.actuate.unpack;

import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.archive.ArchiveFormat;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Archives that are unpacked while they are downloaded, each into {@code downloads/<key>.<number>.tree}, which nobody else sees. A tree is
 * there for the taking once the whole archive has arrived and has the declared checksum. What fails here says nothing: the archive is then
 * unpacked from the cache, and that tells what is wrong.
 *
 * <p>Whoever takes a tree out of the map owns it, and deletes its directory if it is of no use.
 */
final class EarlyTrees implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EarlyTrees.class);

    /** Each takes 0.7 MB of the heap, and more with its entries, until it is taken, and a hundred may be downloaded at once. */
    static final int AT_ONCE = 4;

    /** Nobody vouches for an archive that is arriving. One with more entries, of which each takes some 500 bytes, is unpacked later. */
    static final int MAX_ENTRIES = 5_000;

    private final Layout layout;
    private final Disk disk;
    private final Duration keep;
    private final ReentrantLock large;
    private final AtomicLong number = new AtomicLong();
    private final Semaphore room = new Semaphore(AT_ONCE);
    private final ConcurrentMap<String, Early> trees = new ConcurrentHashMap<>();

    /**
     * @param keep how long a tree is kept that nobody takes, as when something else has been declared meanwhile
     * @param large held by whoever needs much memory; nothing is begun meanwhile
     */
    EarlyTrees(Layout layout, Disk disk, Duration keep, ReentrantLock large) {
        this.large = large;
        this.layout = layout;
        this.disk = disk;
        this.keep = keep;
    }

    /** Begins to unpack an archive that is arriving, unless somebody does so already, too many arrive, or there is no memory for it now. Closes it. */
    void begin(ArrivingArchive archive, Path destination, UnpackLimits limits) {
        if (large.isLocked() || !room.tryAcquire()) {
            archive.close();
            return;
        }
        boolean begun = false;
        try {
            Early early = new Early(archive, destination, limits);
            // While its key is held: whoever takes it out of the map finds it running.
            begun = trees.computeIfAbsent(archive.key(), _ -> early.start()) == early;
        } finally {
            if (!begun) {
                room.release();
                archive.close();
            }
        }
    }

    /** The tree of an archive that has arrived; waits until it is unpacked. Empty when there is none. */
    Optional<UnpackedTree> take(String key) throws IOException, InterruptedException {
        Early early = trees.remove(key);
        if (early == null) {
            return Optional.empty();
        }
        if (!early.archive.isComplete()) {
            // It came from another URL, and this one may never answer.
            early.abandon();
            return Optional.empty();
        }
        early.taken.countDown();
        try {
            return Optional.of(early.tree.get());
        } catch (ExecutionException e) {
            disk.deleteTree(early.root);
            return Optional.empty();
        } catch (InterruptedException e) {
            early.abandon();
            throw e;
        }
    }

    @Override
    public void close() {
        for (Early early : trees.values()) {
            if (trees.remove(early.archive.key(), early)) {
                early.endAndDelete();
            }
        }
    }

    private final class Early {
        private final ArrivingArchive archive;
        private final Path destination;
        private final UnpackBudget budget;
        private final Path root;
        private final CompletableFuture<UnpackedTree> tree = new CompletableFuture<>();
        private final CountDownLatch taken = new CountDownLatch(1);
        private final Thread thread;

        Early(ArrivingArchive archive, Path destination, UnpackLimits limits) {
            this.archive = archive;
            this.destination = destination;
            this.root = layout.downloads().resolve(archive.key() + "." + number.incrementAndGet() + ".tree");
            // The download comes first where there is not room for both, whatever is written between two looks.
            long reserve = limits.reserveBytes() + archive.total() + UnpackBudget.LOOK_EVERY;
            UnpackLimits beside =
                    new UnpackLimits(limits.maxBytes(), limits.maxEntries(), reserve).withEntries(MAX_ENTRIES);
            // Whoever serves a bomb may announce any length.
            this.budget = new UnpackBudget(beside, archive.total(), archive::present, () -> disk.usableBytes(root));
            this.thread = Thread.ofPlatform().daemon().name("early-unpack").unstarted(this::run);
        }

        Early start() {
            thread.start();
            return this;
        }

        private void run() {
            try (archive) {
                tree.complete(unpacked());
                boolean _ = taken.await(keep.toMillis(), TimeUnit.MILLISECONDS);
            } catch (IOException | RefusedArchive | InterruptedException | RuntimeException | Error e) {
                LOG.debug("{} was not unpacked while it was downloaded: {}", archive.key(), e.toString());
                tree.completeExceptionally(e);
            } finally {
                room.release();
                if (trees.remove(archive.key(), this)) {
                    delete();
                }
            }
        }

        private UnpackedTree unpacked() throws IOException, RefusedArchive, InterruptedException {
            byte[] head = ArchiveFormat.head(archive.read());
            ArchiveFormat format = ArchiveFormat.of(head).orElseThrow(() -> UnpackedTree.noArchive(head));
            // Of somebody who was killed, if it could not be removed: it may be that of another archive.
            disk.deleteTree(root);
            disk.makeDirectories(root);
            if (!isRenamed()) {
                throw new IOException("it could not be moved to another file system");
            }
            InputStream bytes = archive.read();
            return UnpackedTree.of(
                    (into, bounds) -> {
                        switch (format) {
                            case TAR_GZ -> TarReader.readGzip(bytes, into, bounds);
                            case TAR -> TarReader.readPlain(bytes, into, bounds);
                            // Its table of contents comes last.
                            case ZIP -> throw new RefusedArchive("a zip can't be read while it arrives");
                        }
                    },
                    root,
                    budget,
                    disk);
        }

        /** Somebody may have moved the cache, or what is installed, to another disk. */
        private boolean isRenamed() throws IOException {
            Path there = destination.toAbsolutePath();
            while (!Files.exists(there) && there.getParent() != null) {
                there = there.getParent();
            }
            return Files.getAttribute(there, "unix:dev").equals(Files.getAttribute(root, "unix:dev"));
        }

        /** Of the owner. */
        void abandon() throws IOException {
            archive.breakOff();
            thread.interrupt();
            Uninterruptibles.joinUninterruptibly(thread);
            disk.deleteTree(root);
        }

        private void endAndDelete() {
            try {
                abandon();
            } catch (IOException e) {
                LOG.warn("{} is left behind: {}", root, Disk.reason(e));
            }
        }

        private void delete() {
            try {
                disk.deleteTree(root);
            } catch (IOException e) {
                LOG.warn("{} is left behind: {}", root, Disk.reason(e));
            }
        }
    }
}
