package io.homeostat.actuate;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A disk at which everything ends before, or right after, the nth step: what a crash leaves is what the steps before it did. */
public final class FailingDisk implements Disk {
    private final Disk disk;
    private final int failAt;
    private final boolean after;
    private int steps;
    private boolean failed;

    FailingDisk(int failAt, boolean after) {
        this(failAt, after, new LocalDisk());
    }

    public FailingDisk(int failAt, boolean after, Disk disk) {
        this.disk = disk;
        this.failAt = failAt;
        this.after = after;
    }

    /** Whether there were as many steps at all. */
    public boolean hasFailed() {
        return failed;
    }

    /** Stands for the crash; an Error, because nobody catches one to clean up. */
    public static final class Crash extends Error {
        private static final long serialVersionUID = 1L;
    }

    private interface Step {
        void run() throws IOException;
    }

    private void step(Step step) throws IOException {
        steps++;
        boolean now = steps == failAt;
        failed |= now;
        if (now && !after) {
            throw new Crash();
        }
        step.run();
        if (now) {
            throw new Crash();
        }
    }

    @Override
    public void makeDirectories(Path directory) throws IOException {
        step(() -> disk.makeDirectories(directory));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        step(() -> disk.rename(from, to));
    }

    @Override
    public void delete(Path path) throws IOException {
        step(() -> disk.delete(path));
    }

    @Override
    public void deleteIfEmpty(Path directory) throws IOException {
        step(() -> disk.deleteIfEmpty(directory));
    }

    @Override
    public long usableBytes(Path path) {
        return disk.usableBytes(path);
    }

    @Override
    public void deleteTree(Path path) throws IOException {
        step(() -> disk.deleteTree(path));
    }

    @Override
    public void symlink(Path link, String target) throws IOException {
        step(() -> disk.symlink(link, target));
    }

    @Override
    public void write(Path file, byte[] content) throws IOException {
        step(() -> disk.write(file, content));
    }

    @Override
    public void replace(Path file, byte[] content) throws IOException {
        step(() -> disk.replace(file, content));
    }

    @Override
    public void syncTree(Path directory) throws IOException {
        step(() -> disk.syncTree(directory));
    }

    @Override
    public void syncDirectory(@Nullable Path directory) throws IOException {
        step(() -> disk.syncDirectory(directory));
    }
}
