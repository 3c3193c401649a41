package io.homeostat.observe.install;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.hash.Hashing;
import com.google.common.hash.HashingInputStream;
import com.google.common.io.ByteStreams;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.observe.install.FileList.InstalledFile;
import io.homeostat.observe.install.FileList.InstalledFile.Content;
import io.homeostat.observe.install.FileList.InstalledFile.Directory;
import io.homeostat.observe.install.FileList.InstalledFile.Link;
import io.homeostat.observe.install.FileList.InstalledFile.Seen;
import io.homeostat.observe.install.FileList.InstalledFile.Stat;
import java.io.CharConversionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Checks whether an installation still is what was unpacked, with one lstat(2) per file. A file is read only when nothing but its times
 * differ, as after restoring a backup or {@code touch}, and then only once.
 *
 * <p>A tree of a hundred thousand files takes a second. One that took long is not checked again before twenty times as long has passed,
 * so that checking never takes more than a twentieth of a CPU.
 *
 * <p>Only files from the archive are checked. Workloads may write files of their own beside them.
 */
final class InstallationCheck {
    /** The owner's permissions: without them, the content of a directory is out of reach. Others may be allowed in. */
    private static final int OWNER = 0700;

    /** How many files that were read and found unchanged are remembered; others are read again. */
    private static final int REMEMBERED = 10_000;

    private static final int SHOWN = 200;

    private static final Duration LONG = Duration.ofMillis(100);
    private static final int TIMES_AS_LONG = 20;

    private final Map<Path, Stat> readAndFoundTheSame = new ConcurrentHashMap<>();
    /** Installations that were found intact, and until when (by the ticker) that is taken for granted. */
    private final Map<Path, Whole> large = new ConcurrentHashMap<>();

    private final Ticker ticker;

    InstallationCheck(Ticker ticker) {
        this.ticker = ticker;
    }

    private record Whole(InstallationMarker marker, long until) {}

    /** What is wrong with an installation; empty when nothing is, or a version that listed no files made it. */
    Optional<String> damage(Path installation, InstallationMarker marker) throws IOException {
        if (marker.files().isEmpty()) {
            return Optional.empty();
        }
        long start = ticker.read();
        Whole known = large.get(installation);
        if (known != null && known.marker().equals(marker) && start - known.until() < 0) {
            return Optional.empty();
        }
        Optional<String> damage = compare(installation, marker);
        long end = ticker.read();
        if (damage.isEmpty() && end - start >= LONG.toNanos()) {
            large.put(installation, new Whole(marker, end + TIMES_AS_LONG * (end - start)));
        } else {
            large.remove(installation);
        }
        return damage;
    }

    private Optional<String> compare(Path installation, InstallationMarker marker) throws IOException {
        Path list = installation.resolve(FileList.FILE);
        try {
            // Checked before it is opened: opening a FIFO would wait for a writer.
            if (!InstalledFile.look(list).isRegular()) {
                return Optional.of(FileList.FILE + " is no file any more");
            }
            try (FileList.Reader files = new FileList.Reader(Files.newInputStream(list, LinkOption.NOFOLLOW_LINKS))) {
                // Follows the order of the list, in which a directory precedes its contents, so no path leads through a
                // link that replaced a directory.
                for (var file = files.next(); file.isPresent(); file = files.next()) {
                    Optional<String> wrong = wrong(installation, file.get());
                    if (wrong.isPresent()) {
                        String path = file.get().path();
                        return wrong.map(words -> shown(path) + " " + words);
                    }
                }
                return files.hash().equals(marker.files())
                        ? Optional.empty()
                        : Optional.of(FileList.FILE + " was changed");
            }
        } catch (NoSuchFileException e) {
            return Optional.of(FileList.FILE + " is gone");
        } catch (JsonProcessingException | CharConversionException | InvalidPathException e) {
            return Optional.of(FileList.FILE + " was changed");
        }
    }

    private Optional<String> wrong(Path installation, InstalledFile file) throws IOException {
        Path path = installation.resolve(file.path());
        try {
            Seen seen = InstalledFile.look(path);
            return switch (file) {
                case Directory(String name, int mode) -> ofDirectory(mode, seen);
                case Link(String name, String target) -> ofLink(path, target, seen);
                case Content content -> ofContent(path, content, seen);
            };
        } catch (NoSuchFileException e) {
            return Optional.of("is gone");
        }
    }

    private static Optional<String> ofDirectory(int mode, Seen seen) {
        if (!seen.isDirectory()) {
            return Optional.of("is no directory any more");
        }
        boolean lost = (mode & OWNER & ~seen.stat().mode()) != 0;
        return lost ? Optional.of(modes(mode, seen.stat().mode())) : Optional.empty();
    }

    private static Optional<String> ofLink(Path path, String target, Seen seen) throws IOException {
        if (!seen.isLink()) {
            return Optional.of("is no symlink any more");
        }
        // As paths: the archive's target was stored as one, without the slashes that it has at its end or twice.
        boolean same = Files.readSymbolicLink(path).equals(Path.of(target));
        return same ? Optional.empty() : Optional.of("points elsewhere");
    }

    private Optional<String> ofContent(Path path, Content recorded, Seen seen) throws IOException {
        Stat now = seen.stat();
        if (!seen.isRegular()) {
            return Optional.of("is no file any more");
        }
        if (now.mode() != recorded.stat().mode()) {
            return Optional.of(modes(recorded.stat().mode(), now.mode()));
        }
        if (now.size() != recorded.stat().size()) {
            return Optional.of(
                    "has " + now.size() + " bytes instead of " + recorded.stat().size());
        }
        if (now.equals(recorded.stat()) || now.equals(readAndFoundTheSame.get(path))) {
            return Optional.empty();
        }
        if (!sha256(path, now.size()).equals(recorded.sha256())) {
            return Optional.of("has other content");
        }
        if (readAndFoundTheSame.size() >= REMEMBERED) {
            readAndFoundTheSame.clear();
        }
        readAndFoundTheSame.put(path, now);
        return Optional.empty();
    }

    /** Reads no more than so many bytes, so that somebody who appends to the file does not keep us. */
    private static String sha256(Path file, long size) throws IOException {
        try (HashingInputStream in =
                new HashingInputStream(Hashing.sha256(), Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS))) {
            long read = ByteStreams.exhaust(ByteStreams.limit(in, size));
            return read == size ? in.hash().toString() : "";
        }
    }

    private static String modes(int recorded, int now) {
        return "has mode " + Integer.toOctalString(now) + " instead of " + Integer.toOctalString(recorded);
    }

    /** A name comes from an archive and may be anything; in a message it is shortened and without control characters. */
    private static String shown(String path) {
        StringBuilder shown = new StringBuilder();
        path.codePoints().limit(SHOWN).forEach(c -> shown.appendCodePoint(VisibleText.isVisible(c) ? c : '?'));
        return shown.length() < path.length() && shown.codePoints().count() == SHOWN ? shown + "..." : shown.toString();
    }
}
