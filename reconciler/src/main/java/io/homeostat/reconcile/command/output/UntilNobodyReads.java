package io.homeostat.reconcile.command.output;

import java.io.IOException;
import java.io.OutputStream;

/**
 * Writes as long as somebody reads. Who closes a pipe, as head(1) does, has seen enough: the rest is dropped, and the command goes
 * on and ends as it would have. Anything else that keeps output from being written is an error as ever.
 */
public final class UntilNobodyReads extends OutputStream {
    /** What strerror(3) says for EPIPE; the JVM has no exception of its own for it. */
    private static final String BROKEN_PIPE = "Broken pipe";

    private final OutputStream out;
    private volatile boolean unread;

    public UntilNobodyReads(OutputStream out) {
        this.out = out;
    }

    boolean isRead() {
        return !unread;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        if (!unread) {
            attempt(() -> out.write(bytes, offset, length));
        }
    }

    @Override
    public void flush() throws IOException {
        if (!unread) {
            attempt(out::flush);
        }
    }

    @Override
    public void close() throws IOException {
        out.close();
    }

    private void attempt(Attempt attempt) throws IOException {
        try {
            attempt.run();
        } catch (IOException e) {
            if (!BROKEN_PIPE.equals(e.getMessage())) {
                throw e;
            }
            unread = true;
        }
    }

    @FunctionalInterface
    private interface Attempt {
        void run() throws IOException;
    }
}
