package io.homeostat.desired.yaml;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
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
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds the files below paths, in name order. Symbolic links are followed, hidden names skipped (what editors and mounts leave
 * there), and a file that is reached twice is read once.
 */
final class DocumentFiles {
    private final Consumer<Problem> errors;
    private final Set<Object> seen = new HashSet<>();

    DocumentFiles(Consumer<Problem> errors) {
        this.errors = errors;
    }

    /** The files at or below a path; a file that is named itself may be of any name and kind. */
    List<Path> at(Path path) {
        List<Path> files = new ArrayList<>();
        BasicFileAttributes attributes = attributes(path);
        if (attributes == null) {
            return files;
        }
        if (attributes.isDirectory()) {
            directory(path, attributes, new ArrayDeque<>(), files);
        } else if (attributes.fileKey() == null || seen.add(attributes.fileKey())) {
            files.add(path);
        }
        return files;
    }

    private void directory(Path directory, BasicFileAttributes self, Deque<Object> above, List<Path> files) {
        Object key = self.fileKey() == null ? directory.toAbsolutePath().normalize() : self.fileKey();
        if (above.contains(key)) {
            error(directory, "a symbolic link to a directory it stands in; remove it");
            return;
        }
        List<Path> children = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            stream.forEach(children::add);
        } catch (IOException | DirectoryIteratorException e) {
            error(directory, "the directory can't be read: " + reason(e));
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
        if (!wanted && Files.isRegularFile(child, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        if (!wanted && !Files.isDirectory(child)) {
            return;
        }
        BasicFileAttributes attributes = attributes(child);
        if (attributes == null) {
            return;
        }
        if (attributes.isDirectory()) {
            directory(child, attributes, above, files);
        } else if (!attributes.isRegularFile()) {
            error(child, "neither a file nor a directory; remove it or give it another name");
        } else if (attributes.fileKey() == null || seen.add(attributes.fileKey())) {
            files.add(child);
        }
    }

    private @Nullable BasicFileAttributes attributes(Path path) {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class);
        } catch (NoSuchFileException e) {
            error(path, Files.isSymbolicLink(path) ? "a symbolic link to nothing" : "no such file or directory");
        } catch (IOException e) {
            error(path, "can't be read: " + reason(e));
        }
        return null;
    }

    private void error(Path path, String message) {
        errors.accept(new Problem(path.toString(), 0, 0, message));
    }

    static String reason(Exception e) {
        Throwable cause = e.getCause() instanceof IOException io ? io : e;
        return switch (cause) {
            case AccessDeniedException denied -> "permission denied";
            case NoSuchFileException missing -> "it is gone";
            case FileSystemException failed when failed.getReason() != null -> failed.getReason();
            default -> String.valueOf(cause.getMessage());
        };
    }
}
