package io.homeostat.desired.yaml;

import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Problem.Kind;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds the files below paths, in name order. Symbolic links are followed, hidden names (left by editors and mounts) skipped; what is
 * reached twice is read once.
 */
final class DocumentFiles {
    /** Deeper than anybody nests directories, and shallow enough for any stack. */
    private static final int MAX_DEPTH = 64;

    private static final Path STANDARD_INPUT = Path.of("/dev/stdin");

    private final Consumer<Problem> errors;
    private final Set<Object> seen = new HashSet<>();
    private TrustedPath.Walk trusted = TrustedPath.ANY.walk();

    DocumentFiles(Consumer<Problem> errors) {
        this.errors = errors;
    }

    /**
     * The files at or below a path; a file that is named itself may be of any name. What is neither a file nor a directory is an error
     * and not opened, which may take for ever, except what this process was started with open.
     */
    List<Path> at(Path path) {
        List<Path> files = new ArrayList<>();
        BasicFileAttributes attributes = attributes(path);
        if (attributes == null) {
            return files;
        }
        if (attributes.isOther() && !isOpen(path)) {
            error(
                    Kind.NO_FILE,
                    path,
                    "neither a file nor a directory; name another path, or write - for standard input");
            return files;
        }
        if (attributes.isDirectory()) {
            directory(path, attributes, new ArrayDeque<>(), files);
        } else if (attributes.fileKey() == null || seen.add(attributes.fileKey())) {
            files.add(path);
        }
        return files;
    }

    /**
     * As {@link #at}, but a path that leads to neither a file nor a directory is an error and not opened, and so is one that is not trusted.
     */
    List<Path> watched(Path path, TrustedPath who) {
        trusted = who.walk();
        try {
            return isUntrusted(path) ? List.of() : filesOrDirectories(path);
        } finally {
            trusted = TrustedPath.ANY.walk();
        }
    }

    private List<Path> filesOrDirectories(Path path) {
        BasicFileAttributes attributes = attributes(path);
        if (attributes == null) {
            return List.of();
        }
        if (!attributes.isDirectory() && !attributes.isRegularFile()) {
            error(Kind.NO_FILE, path, "neither a file nor a directory; name another path");
            return List.of();
        }
        return at(path);
    }

    /** {@code /dev/stdin}, and what a shell puts for {@code <(command)}. */
    static boolean isOpen(Path path) {
        return path.startsWith("/dev/fd") || path.startsWith("/proc/self/fd") || path.equals(STANDARD_INPUT);
    }

    private void directory(Path directory, BasicFileAttributes self, Deque<Object> above, List<Path> files) {
        Object key = self.fileKey() == null ? directory.toAbsolutePath().normalize() : self.fileKey();
        if (above.contains(key)) {
            error(Kind.LINK, directory, "a symbolic link to a directory it stands in; remove it");
            return;
        }
        if (above.size() == MAX_DEPTH) {
            error(Kind.TOO_LARGE, directory, "more than " + MAX_DEPTH + " directories deep; move it up");
            return;
        }
        // Otherwise links that meet again and again would never end.
        if (!seen.add(key)) {
            return;
        }
        List<Path> children = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            stream.forEach(children::add);
        } catch (IOException | DirectoryIteratorException e) {
            error(Kind.UNREADABLE, directory, "the directory can't be read: " + IoReason.of(e));
            return;
        }
        Collections.sort(children);
        above.push(key);
        for (Path child : children) {
            String name = child.getFileName().toString();
            if (!name.startsWith(".")) {
                child(child, name.endsWith(".yaml") || name.endsWith(".yml"), above, files);
            }
        }
        above.pop();
    }

    private void child(Path child, boolean wanted, Deque<Object> above, List<Path> files) {
        if (!wanted && (Files.isRegularFile(child, LinkOption.NOFOLLOW_LINKS) || leadsNowhere(child))) {
            return;
        }
        BasicFileAttributes attributes = attributes(child);
        if (attributes == null || ((wanted || attributes.isDirectory()) && isUntrusted(child))) {
            return;
        }
        if (attributes.isDirectory()) {
            directory(child, attributes, above, files);
        } else if (!wanted) {
            return;
        } else if (!attributes.isRegularFile()) {
            error(Kind.NO_FILE, child, "neither a file nor a directory; remove it or give it another name");
        } else if (attributes.fileKey() == null || seen.add(attributes.fileKey())) {
            files.add(child);
        }
    }

    private boolean isUntrusted(Path path) {
        Optional<TrustedPath.Objection> found = trusted.objection(path);
        found.ifPresent(objection -> error(Kind.UNTRUSTED, path, objection.ofDocuments()));
        return found.isPresent();
    }

    /** A link whose target can't be looked at is something else: a directory may be behind it. */
    private static boolean leadsNowhere(Path path) {
        try {
            Files.readAttributes(path, BasicFileAttributes.class);
            return false;
        } catch (NoSuchFileException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private @Nullable BasicFileAttributes attributes(Path path) {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class);
        } catch (NoSuchFileException e) {
            if (Files.isSymbolicLink(path)) {
                error(Kind.LINK, path, "a symbolic link to nothing");
            } else {
                error(Kind.UNREADABLE, path, "no such file or directory");
            }
        } catch (IOException e) {
            error(Kind.UNREADABLE, path, "can't be read: " + IoReason.of(e));
        }
        return null;
    }

    private void error(Kind kind, Path path, String message) {
        errors.accept(new Problem(kind, path.toString(), message));
    }
}
