package io.homeostat.observe.watch;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The inotify watches for a set of paths: every directory at and below them, following symlinks to directories, unless only the paths
 * themselves are wanted, and for each directory above them the one name that leads down, which may appear, vanish or be replaced.
 *
 * <p>When directories come and go, another tree takes its place. The kernel reports neither a mount over a directory, nor that
 * the target of a symlink was replaced or, if it is a file, written: {@link #isCurrent} looks for that.
 */
final class WatchedTree implements AutoCloseable {
    private static final WatchEvent.Kind<?>[] NAMES = {
        StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE
    };
    private static final WatchEvent.Kind<?>[] EVERYTHING = {
        StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE, StandardWatchEventKinds.ENTRY_MODIFY
    };

    /** More than any sensible set of declarations has; a link to the root of the machine has more. */
    private static final int MOST_DIRECTORIES = 10_000;

    /** So many paths take some 20 MB. */
    private static final int MOST_FILES = 100_000;

    /** As deep as declarations are read; little enough for any stack, with one descriptor per level. */
    private static final int MOST_LEVELS = 64;

    private final int mostFiles;
    private final WatchService service;
    private final Map<WatchKey, Interest> interests = new HashMap<>();
    private final Set<Path> directories = new HashSet<>();
    /** What else there is in them, as far as events have told by now. */
    private final Set<Path> files = new HashSet<>();
    /** What each path resolved to just before it was watched. */
    private final Map<Path, Identity> identities = new HashMap<>();

    private final Map<Gap, String> gaps = new LinkedHashMap<>();
    private int visits;

    /**
     * Something that is not watched. Equal ones are the same one, however they are put into words.
     *
     * @param directory null when it is not just one
     */
    record Gap(Kind kind, @Nullable Path directory) {
        enum Kind {
            ALL,
            TOO_MANY,
            TOO_DEEP,
            UNREADABLE
        }
    }

    /** What has changed, in order of consequence. */
    enum Change {
        /** Nothing of interest. */
        NONE,
        /** Files that were not there, complete: nobody has them open for writing. */
        ARRIVAL,
        /** A file. */
        CONTENT,
        /** A directory, or something that leads to one: another tree is needed. */
        STRUCTURE;

        /** What both of them come to. */
        Change and(Change other) {
            return other.compareTo(this) > 0 ? other : this;
        }
    }

    /** What a path resolves to: the key of the file or directory, and when a link's target was last written; both may be null. */
    private record Identity(@Nullable Object key, @Nullable FileTime changed) {
        static Identity of(Path path) {
            try {
                BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
                boolean silent = !attributes.isDirectory() && Files.isSymbolicLink(path);
                return new Identity(attributes.fileKey(), silent ? attributes.lastModifiedTime() : null);
            } catch (IOException e) {
                return new Identity(null, null);
            }
        }
    }

    /** What the events of one directory mean, which may be known under several paths. */
    private static final class Interest {
        private final Set<Path> names = new HashSet<>();
        private final Set<Path> contents = new HashSet<>();
        private boolean everything;

        Change of(WatchEvent<?> event, Set<Path> directories, Set<Path> files) {
            if (!(event.context() instanceof Path name)) {
                return Change.STRUCTURE;
            }
            if (names.contains(name)) {
                return Change.STRUCTURE;
            }
            Change change = Change.NONE;
            for (Path directory : contents) {
                Path child = directory.resolve(name);
                if (directories.contains(child) || Files.isDirectory(child)) {
                    return Change.STRUCTURE;
                }
                boolean created = event.kind().equals(StandardWatchEventKinds.ENTRY_CREATE);
                boolean arrived = created && files.add(child);
                if (event.kind().equals(StandardWatchEventKinds.ENTRY_DELETE)) {
                    files.remove(child);
                }
                change = change.and(arrived && isComplete(child) ? Change.ARRIVAL : Change.CONTENT);
            }
            return change;
        }

        private static boolean isComplete(Path file) {
            return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Libc.hasNoWriter(file.toString());
        }
    }

    /** @throws IOException when the kernel watches nothing for us */
    WatchedTree(ImmutableSet<Path> paths) throws IOException {
        this(paths, true, MOST_FILES);
    }

    WatchedTree(ImmutableSet<Path> paths, boolean isDeep, int mostFiles) throws IOException {
        this.mostFiles = mostFiles;
        this.service = FileSystems.getDefault().newWatchService();
        boolean complete = false;
        try {
            for (Path path : paths) {
                Path absolute = path.toAbsolutePath().normalize();
                watchAbove(absolute);
                if (isDeep && Files.isDirectory(absolute)) {
                    watchBelow(absolute, new HashSet<>());
                }
            }
            complete = true;
        } finally {
            if (!complete) {
                service.close();
            }
        }
    }

    /** One of the paths themselves: of a directory only that it comes and goes, whatever is in it. */
    static WatchedTree ofFiles(ImmutableSet<Path> paths) throws IOException {
        return new WatchedTree(paths, false, MOST_FILES);
    }

    /** What could not be watched, each with words for people. */
    ImmutableMap<Gap, String> gaps() {
        return ImmutableMap.copyOf(gaps);
    }

    /** Whether every path still resolves to what it did. False means that a change, and perhaps others, may have gone unnoticed. */
    boolean isCurrent() {
        return identities.entrySet().stream().allMatch(known -> known.getValue().equals(Identity.of(known.getKey())));
    }

    /** Waits for a change; {@link Change#NONE} when there was none in this time. */
    Change await(Duration atMost) throws InterruptedException {
        WatchKey key = service.poll(atMost.toNanos(), TimeUnit.NANOSECONDS);
        if (key == null) {
            return Change.NONE;
        }
        Interest interest = interests.get(key);
        Change change = Change.NONE;
        for (WatchEvent<?> event : key.pollEvents()) {
            change = change.and(interest == null ? Change.STRUCTURE : interest.of(event, directories, files));
        }
        // A key that cannot be reset belongs to a directory that is gone.
        return key.reset() ? change : Change.STRUCTURE;
    }

    @Override
    public void close() throws IOException {
        service.close();
    }

    private void watchAbove(Path path) {
        identify(path);
        boolean exists = Files.exists(path);
        // A file is watched through the directory it is in.
        boolean file = exists && !Files.isDirectory(path);
        Path child = path;
        for (Path parent = path.getParent(); parent != null; child = parent, parent = parent.getParent()) {
            identify(parent);
            if (!Files.isDirectory(parent)) {
                continue;
            }
            try {
                Interest interest = watch(parent, file);
                interest.names.add(child.getFileName());
            } catch (IOException e) {
                // For what exists, its own events tell nearly everything.
                if (!exists) {
                    gap(parent, e);
                }
            }
            file = false;
            exists = true;
        }
    }

    /** @param above keys of the directories on the way here, because a link may lead back to one of them */
    private void watchBelow(Path directory, Set<Object> above) {
        visits++;
        if (visits > MOST_DIRECTORIES) {
            tooMany();
            return;
        }
        if (above.size() == MOST_LEVELS) {
            gaps.put(new Gap(Gap.Kind.TOO_DEEP, null), "what is more than " + MOST_LEVELS + " directories deep");
            return;
        }
        Object key = identify(directory).key();
        if (key == null || !above.add(key)) {
            return;
        }
        try {
            // Before its children are listed: one that appears afterwards causes an event.
            watch(directory, true).contents.add(directory);
            directories.add(directory);
            try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
                for (Path child : children) {
                    if (Files.isDirectory(child)) {
                        watchBelow(child, above);
                        continue;
                    }
                    if (files.size() >= mostFiles) {
                        tooMany();
                        break;
                    }
                    files.add(child);
                    if (Files.isSymbolicLink(child)) {
                        identify(child);
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            // Gone meanwhile, which is an event of its parent.
            directories.remove(directory);
        } catch (IOException e) {
            gap(directory, e);
        }
        above.remove(key);
    }

    private void tooMany() {
        gaps.put(
                new Gap(Gap.Kind.TOO_MANY, null),
                "what comes after the first " + MOST_DIRECTORIES + " directories or " + mostFiles + " files");
    }

    private Identity identify(Path path) {
        return identities.computeIfAbsent(path, Identity::of);
    }

    /** Adds to what is watched of a directory. */
    private Interest watch(Path directory, boolean everything) throws IOException {
        WatchKey key = directory.register(service, everything ? EVERYTHING : NAMES);
        Interest interest = interests.computeIfAbsent(key, any -> new Interest());
        if (interest.everything && !everything) {
            // The last registration counts.
            directory.register(service, EVERYTHING);
        }
        interest.everything |= everything;
        return interest;
    }

    private void gap(Path directory, IOException e) {
        gaps.put(
                new Gap(Gap.Kind.UNREADABLE, directory),
                directory + ": " + (e instanceof AccessDeniedException ? "permission denied" : e.getMessage()));
    }
}
