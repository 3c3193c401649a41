package io.homeostat.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Directory trees: what is in them, down to the last byte, and how to be rid of them. */
final class Trees {
    private Trees() {}

    /** Every file with its kind, mode, size, time of change and content; two that are equal are the same tree. */
    static SortedMap<String, String> listing(Path root) {
        SortedMap<String, String> listing = new TreeMap<>();
        if (Files.notExists(root)) {
            return listing;
        }
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.toList()) {
                listing.put(root.relativize(file).toString(), describe(file));
            }
            return listing;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String describe(Path file) throws IOException {
        BasicFileAttributes attributes =
                Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        String content = attributes.isRegularFile()
                ? Hashes.sha256(Files.readAllBytes(file))
                : attributes.isSymbolicLink() ? "-> " + Files.readSymbolicLink(file) : "";
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS)) + " "
                + attributes.size() + " " + attributes.lastModifiedTime() + " " + content;
    }

    /** The regular files below a directory with their content, a byte a character. */
    static SortedMap<String, String> contents(Path root) {
        SortedMap<String, String> contents = new TreeMap<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                contents.put(root.relativize(file).toString(), Files.readString(file, StandardCharsets.ISO_8859_1));
            }
            return contents;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void delete(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException problem)
                    throws IOException {
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
