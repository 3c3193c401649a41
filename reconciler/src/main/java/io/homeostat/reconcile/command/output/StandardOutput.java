package io.homeostat.reconcile.command.output;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** A stream of this process that knows when nobody reads it any more. */
public final class StandardOutput extends PrintStream {
    private static final int BUFFER = 8192;

    private final OutputStream unbuffered;
    private final UntilBrokenPipe end;

    public StandardOutput(OutputStream out) {
        this(out, new UntilBrokenPipe(out));
    }

    private StandardOutput(OutputStream unbuffered, UntilBrokenPipe end) {
        super(new BufferedOutputStream(end, BUFFER), false, StandardCharsets.UTF_8);
        this.unbuffered = unbuffered;
        this.end = end;
    }

    /** The stream that this one writes to. It has no buffer, and throws the exceptions that this one hides. */
    public OutputStream unbuffered() {
        return unbuffered;
    }

    /** As far as the last thing written has shown. */
    boolean isRead() {
        return end.isRead();
    }

    /**
     * Writes as long as somebody reads. A reader who closes the pipe, as head(1) does, has seen enough: the rest is dropped, and the
     * command ends as usual. Any other failure to write is an error.
     */
    public static final class UntilBrokenPipe extends OutputStream {
        /** What strerror(3) says for EPIPE; the JVM has no exception of its own for it. */
        private static final String BROKEN_PIPE = "Broken pipe";

        private final OutputStream out;
        private volatile boolean unread;

        public UntilBrokenPipe(OutputStream out) {
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

        private void attempt(Write write) throws IOException {
            try {
                write.run();
            } catch (IOException e) {
                if (!BROKEN_PIPE.equals(e.getMessage())) {
                    throw e;
                }
                unread = true;
            }
        }

        @FunctionalInterface
        private interface Write {
            void run() throws IOException;
        }
    }
}
