package io.homeostat.actuate;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A disk at which everything ends before, or right after, the nth step: what a crash leaves is what the steps before it did. */
final class FailingDisk extends Disk {
    private final int failAt;
    private final boolean after;
    private int steps;
    private boolean failed;

    FailingDisk(int failAt, boolean after) {
        this.failAt = failAt;
        this.after = after;
    }

    /** Whether there were as many steps at all. */
    boolean hasFailed() {
        return failed;
    }

    /** Stands for the crash; an Error, because nobody catches one to clean up. */
    static final class Crash extends Error {
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
    void makeDirectories(Path directory) throws IOException {
        step(() -> super.makeDirectories(directory));
    }

    @Override
    void rename(Path from, Path to) throws IOException {
        step(() -> super.rename(from, to));
    }

    @Override
    void delete(Path path) throws IOException {
        step(() -> super.delete(path));
    }

    @Override
    void deleteTree(Path path) throws IOException {
        step(() -> super.deleteTree(path));
    }

    @Override
    void symlink(Path link, String target) throws IOException {
        step(() -> super.symlink(link, target));
    }

    @Override
    void write(Path file, byte[] content) throws IOException {
        step(() -> super.write(file, content));
    }

    @Override
    void syncTree(Path directory) throws IOException {
        step(() -> super.syncTree(directory));
    }

    @Override
    void syncDirectory(@Nullable Path directory) throws IOException {
        step(() -> super.syncDirectory(directory));
    }
}
