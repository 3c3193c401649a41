package io.homeostat.e2e.soak;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Trees of files that somebody else changes all the while. */
final class Trees {
    private Trees() {}

    /** All that could be seen, directories too, each before what is in it. */
    static List<Path> files(Path root) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                found.add(directory);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                found.add(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException gone) {
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException gone) {
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }

    static void delete(Path root) throws IOException {
        for (Path file : files(root).stream().sorted(Comparator.reverseOrder()).toList()) {
            Files.deleteIfExists(file);
        }
    }
}
