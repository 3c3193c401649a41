package io.homeostat.observe.install;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds the archives and revisions on disk.
 *
 * <p>An installation is a directory with a marker that names it; a directory without a fitting marker belongs to somebody else and is
 * ignored. A missing directory is empty; one that cannot be read is {@link Observation.Unseen}.
 */
public final class InstallationObserver {
    private static final Pattern ARCHIVE = Pattern.compile("(unverified-)?[0-9a-f]{64}");

    private final Layout layout;
    private final DirectoryNames names;
    private volatile Archives archives = new Archives(ImmutableSortedSet.of(), ImmutableSet.of());
    private final InstallationCheck check = new InstallationCheck(Ticker.systemTicker());

    public InstallationObserver(Layout layout) {
        this(layout, InstantSource.system());
    }

    InstallationObserver(Layout layout, InstantSource clock) {
        this.layout = layout;
        this.names = new DirectoryNames(clock);
    }

    /** The complete installations of a workload, sorted by directory, with what is wrong with their files. */
    public Observation<ImmutableList<Installation>> installations(WorkloadId id) {
        return installations(id, (directory, marker) -> marker.installation());
    }

    /** The complete installations of a workload, sorted by directory, with what is wrong with their files. */
    public Observation<ImmutableList<Installation>> examined(WorkloadId id) {
        return installations(
                id,
                (directory, marker) -> marker.installation()
                        .withDamage(check.damage(directory, marker).orElse("")));
    }

    /** What is wrong with the files of an installation, wherever it is; empty when nothing is. */
    public static Optional<String> damage(Path directory, InstallationMarker marker) throws IOException {
        return new InstallationCheck(Ticker.systemTicker()).damage(directory, marker);
    }

    private interface Examination {
        Installation examine(Path directory, InstallationMarker marker) throws IOException;
    }

    private Observation<ImmutableList<Installation>> installations(WorkloadId id, Examination examination) {
        return look("the installations of " + id, layout.installs(id), () -> {
            ImmutableList.Builder<Installation> installations = ImmutableList.builder();
            String name = Layout.directoryName(id);
            // '`' is the character after '_', so these are the names that start with it.
            for (String directory : names.in(layout.installs(id)).subSet(name + "_", name + "`")) {
                Path place = layout.install(id, directory);
                Optional<InstallationMarker> marker =
                        marker(place).filter(found -> found.id().equals(id));
                if (marker.isPresent()) {
                    installations.add(examination.examine(place, marker.get()));
                }
            }
            return installations.build();
        });
    }

    /**
     * The name of the directory that the workload's symlink points to, whether or not it exists; empty when there is no symlink of ours.
     */
    public Observation<Optional<String>> active(WorkloadId id) {
        Path link = layout.active(id);
        return look("the active revision of " + id, link, () -> target(id, link));
    }

    /** The keys of the archives that are complete. */
    public Observation<ImmutableSet<String>> archives() {
        return look("the archives", layout.archives(), () -> {
            ImmutableSortedSet<String> present = names.in(layout.archives());
            Archives known = archives;
            if (!known.isOf(present)) {
                known = new Archives(present, complete(present));
                archives = known;
            }
            return known.keys();
        });
    }

    private ImmutableSet<String> complete(ImmutableSortedSet<String> present) throws IOException {
        ImmutableSet.Builder<String> keys = ImmutableSet.builder();
        for (String name : present) {
            if (ARCHIVE.matcher(name).matches() && isRegularFile(layout.archive(name))) {
                keys.add(name);
            }
        }
        return keys.build();
    }

    /** Each look of each workload asks for all archives, and what a name stands for changes only with its directory. */
    private record Archives(ImmutableSortedSet<String> names, ImmutableSet<String> keys) {
        /** As long as the directory has not changed, it is the very same listing. */
        @SuppressWarnings("ReferenceEquality")
        boolean isOf(ImmutableSortedSet<String> present) {
            return names == present;
        }
    }

    /**
     * Whether anything of the workload is left besides its installations: its state, log, notes on launches, or an interrupted unpacking.
     */
    public Observation<Boolean> residue(WorkloadId id) {
        return look(
                "what is left of " + id,
                layout.machineDirectory(),
                () -> PinnedFile.exists(layout.staging(id))
                        || PinnedFile.exists(layout.workloadState(id))
                        || PinnedFile.exists(layout.launches(id)));
    }

    /** Every workload of which anything is on disk. */
    public Observation<ImmutableSet<WorkloadId>> traces() {
        return look("the installed workloads", layout.machineDirectory(), () -> {
            ImmutableSortedSet.Builder<WorkloadId> found = ImmutableSortedSet.naturalOrder();
            for (Kind kind : Kind.all()) {
                addInstalled(kind, found);
                addNamed(kind, layout.stagings(kind), found);
                addNamed(kind, layout.workloadStates(kind), found);
                addNamed(kind, layout.launches(kind), found);
            }
            return found.build();
        });
    }

    /** The marker of a directory; empty when it is not an installation. */
    public static Optional<InstallationMarker> marker(Path directory) throws IOException {
        Path file = directory.resolve(InstallationMarker.FILE);
        Optional<BasicFileAttributes> place = attributes(directory);
        if (place.isEmpty() || !place.get().isDirectory()) {
            return Optional.empty();
        }
        // Looked at before it is opened: opening a FIFO would wait for a writer.
        Optional<BasicFileAttributes> attributes = attributes(file);
        if (attributes.isEmpty()
                || !attributes.get().isRegularFile()
                || attributes.get().size() > InstallationMarker.MAX_BYTES) {
            return Optional.empty();
        }
        byte[] bytes;
        try (var in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
            bytes = in.readNBytes(InstallationMarker.MAX_BYTES);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        String name = String.valueOf(directory.getFileName());
        return InstallationMarker.parse(bytes)
                .filter(marker -> marker.installation().directory().equals(name));
    }

    /** Where a workload's symlink points; empty unless it is a sibling directory that could be the workload's. */
    private static Optional<String> target(WorkloadId id, Path link) throws IOException {
        try {
            String target = Files.readSymbolicLink(link).toString();
            return Optional.of(target).filter(name -> InstallationMarker.isDirectoryOf(id, name));
        } catch (NoSuchFileException | NotLinkException e) {
            return Optional.empty();
        }
    }

    private void addInstalled(Kind kind, ImmutableSortedSet.Builder<WorkloadId> found) throws IOException {
        for (String name : names.in(layout.installs(kind))) {
            Path entry = layout.installs(kind).resolve(name);
            Optional<BasicFileAttributes> attributes = attributes(entry);
            if (attributes.isPresent() && attributes.get().isSymbolicLink()) {
                Optional<WorkloadId> id = Layout.workload(kind, name.replaceFirst("~$", ""));
                if (id.isPresent()
                        && layout.active(id.get()).equals(entry)
                        && target(id.get(), entry).isPresent()) {
                    found.add(id.get());
                }
            } else if (attributes.isPresent() && attributes.get().isDirectory()) {
                marker(entry)
                        .map(InstallationMarker::id)
                        .filter(id -> id.kind().equals(kind))
                        .ifPresent(found::add);
            }
        }
    }

    private void addNamed(Kind kind, Path directory, ImmutableSortedSet.Builder<WorkloadId> found) throws IOException {
        for (String name : names.in(directory)) {
            Optional<WorkloadId> id = Layout.workload(kind, name);
            if (id.isPresent() && PinnedFile.isDirectory(directory.resolve(name))) {
                found.add(id.get());
            }
        }
    }

    private static boolean isRegularFile(Path path) throws IOException {
        return attributes(path).map(BasicFileAttributes::isRegularFile).orElse(false);
    }

    private static Optional<BasicFileAttributes> attributes(Path path) throws IOException {
        try {
            return Optional.of(Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private interface Look<T> {
        T look() throws IOException;
    }

    private static <T> Observation<T> look(String what, Path where, Look<T> look) {
        try {
            return Observation.seen(look.look());
        } catch (FileSystemException e) {
            return Observation.unseen("can't see " + what + ": " + IoReason.withFile(e));
        } catch (IOException e) {
            return Observation.unseen("can't see " + what + ": " + where + ": " + e.getMessage());
        }
    }

    /**
     * The names in a directory, read again only after the directory has changed: a thousand workloads that share a directory are looked
     * at one by one, and each look must not read a thousand names.
     *
     * <p>A change shows in the inode and the ctime. File systems round times (to milliseconds), so a listing is kept only if the last
     * change was well before it was read; a later change is then certain to have another time.
     */
    private static final class DirectoryNames {
        private static final Duration SETTLED = Duration.ofSeconds(2);

        private final InstantSource clock;
        private final Map<Path, Listing> settled = new ConcurrentHashMap<>();

        DirectoryNames(InstantSource clock) {
            this.clock = clock;
        }

        private record Listing(ImmutableList<Object> inode, Instant changed, ImmutableSortedSet<String> names) {}

        /** The names, sorted; none when the directory does not exist. */
        ImmutableSortedSet<String> in(Path directory) throws IOException {
            Map<String, Object> attributes;
            try {
                // Follows a symlink, as the directory may have been moved to a larger disk.
                attributes = Files.readAttributes(directory, "unix:dev,ino,ctime");
            } catch (NoSuchFileException e) {
                settled.remove(directory);
                return ImmutableSortedSet.of();
            }
            Object device = attributes.get("dev");
            Object number = attributes.get("ino");
            FileTime changed = (FileTime) attributes.get("ctime");
            if (device == null || number == null || changed == null) {
                return read(directory);
            }
            ImmutableList<Object> inode = ImmutableList.of(device, number);
            @Nullable Listing known = settled.get(directory);
            if (known != null && known.inode.equals(inode) && known.changed.equals(changed.toInstant())) {
                return known.names;
            }
            Instant before = clock.instant();
            Listing fresh = new Listing(inode, changed.toInstant(), read(directory));
            if (fresh.changed.plus(SETTLED).isBefore(before)) {
                settled.put(directory, fresh);
            } else {
                settled.remove(directory);
            }
            return fresh.names;
        }

        private static ImmutableSortedSet<String> read(Path directory) throws IOException {
            ImmutableSortedSet.Builder<String> names = ImmutableSortedSet.naturalOrder();
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
                for (Path entry : entries) {
                    names.add(String.valueOf(entry.getFileName()));
                }
            } catch (NoSuchFileException e) {
                return ImmutableSortedSet.of();
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
            return names.build();
        }
    }
}
