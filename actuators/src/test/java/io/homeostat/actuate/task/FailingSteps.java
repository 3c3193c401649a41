package io.homeostat.actuate.task;

import io.homeostat.observe.process.SparseFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** Copying that is killed before, after or, where it writes, in the middle of the nth step. */
final class FailingSteps implements OutputSteps {
    private final OutputSteps steps = OutputSteps.ofTheKernel();
    private final int failAt;
    private final When when;
    private int count;
    private boolean failed;

    enum When {
        BEFORE,
        HALFWAY,
        AFTER
    }

    FailingSteps(int failAt, When when) {
        this.failAt = failAt;
        this.when = when;
    }

    boolean hasFailed() {
        return failed;
    }

    /** Stands for SIGKILL; an Error, because nobody catches one to clean up. */
    static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    private interface Step {
        void run() throws IOException;
    }

    private void step(Step half, Step whole) throws IOException {
        boolean now = ++count == failAt;
        failed |= now;
        if (!now || when == When.AFTER) {
            whole.run();
        } else if (when == When.HALFWAY) {
            half.run();
        }
        if (now) {
            throw new Killed();
        }
    }

    private void step(Step whole) throws IOException {
        step(() -> {}, whole);
    }

    @Override
    public void create(Path file) throws IOException {
        step(() -> steps.create(file));
    }

    @Override
    public void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
        step(
                () -> steps.write(file, bytes.slice(0, bytes.remaining() / 2), position),
                () -> steps.write(file, bytes, position));
    }

    @Override
    public void truncate(FileChannel file, long size) throws IOException {
        step(() -> steps.truncate(file, size));
    }

    @Override
    public void punch(SparseFile source, long from, long to) throws IOException {
        step(() -> steps.punch(source, from, to));
    }

    @Override
    public void delete(Path file) throws IOException {
        step(() -> steps.delete(file));
    }
}
