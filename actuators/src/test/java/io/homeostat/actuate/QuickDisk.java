package io.homeostat.actuate;

import com.google.common.io.MoreFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jspecify.annotations.Nullable;

/** Promises nothing about power failures, for tests that do many things and pull no plug. */
public class QuickDisk implements Disk {
    private final Disk disk = new LocalDisk();

    @Override
    public void makeDirectories(Path directory) throws IOException {
        Files.createDirectories(directory);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void delete(Path path) throws IOException {
        Files.deleteIfExists(path);
    }

    @Override
    public void deleteIfEmpty(Path directory) throws IOException {
        disk.deleteIfEmpty(directory);
    }

    @Override
    public void deleteTree(Path path) throws IOException {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            MoreFiles.deleteRecursively(path);
        }
    }

    @Override
    public void symlink(Path link, String target) throws IOException {
        disk.symlink(link, target);
    }

    @Override
    public void write(Path file, byte[] content) throws IOException {
        Files.write(file, content);
    }

    @Override
    public void replace(Path file, byte[] content) throws IOException {
        Files.write(file, content);
    }

    @Override
    public void syncDirectory(@Nullable Path directory) {}

    @Override
    public void syncTree(Path directory) {}

    @Override
    public long usableBytes(Path path) {
        return disk.usableBytes(path);
    }
}
