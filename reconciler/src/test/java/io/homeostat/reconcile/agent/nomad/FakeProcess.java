package io.homeostat.reconcile.agent.nomad;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;

/** A process that is none: the test writes its output, reads its input and ends it. */
final class FakeProcess extends Process {
    private static final int KILLED = 137;

    final Output out = new Output();
    final Output err = new Output();
    final Input in = new Input();
    private final CompletableFuture<Integer> exit = new CompletableFuture<>();
    private volatile boolean killed;

    /** An output of the process, written by the test. */
    static final class Output extends InputStream {
        private static final int END = -1;
        private static final int BROKEN = -2;

        private final BlockingQueue<Integer> bytes = new LinkedBlockingQueue<>();

        void write(String text) {
            for (byte one : text.getBytes(StandardCharsets.UTF_8)) {
                bytes.add(one & 0xff);
            }
        }

        void end() {
            bytes.add(END);
        }

        /** Reading fails from here on. */
        void breakOff() {
            bytes.add(BROKEN);
        }

        @Override
        public int read() throws IOException {
            try {
                int next = bytes.take();
                if (next == BROKEN) {
                    throw new IOException("broken");
                }
                if (next == END) {
                    bytes.add(END);
                }
                return next;
            } catch (InterruptedException e) {
                throw new IOException("interrupted", e);
            }
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            int first = read();
            if (first < 0) {
                return -1;
            }
            into[offset] = (byte) first;
            int count = 1;
            while (count < length && bytes.peek() != null && bytes.peek() >= 0) {
                into[offset + count] = (byte) read();
                count++;
            }
            return count;
        }
    }

    /** The standard input of the process. */
    static final class Input extends OutputStream {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private volatile boolean closed;

        @Override
        public synchronized void write(int one) throws IOException {
            if (closed) {
                throw new IOException("closed");
            }
            bytes.write(one);
        }

        @Override
        public void close() {
            closed = true;
        }

        boolean isClosed() {
            return closed;
        }

        synchronized String text() {
            return bytes.toString(StandardCharsets.UTF_8);
        }
    }

    void exit(int status) {
        out.end();
        err.end();
        exit.complete(status);
    }

    boolean isKilled() {
        return killed;
    }

    @Override
    public OutputStream getOutputStream() {
        return in;
    }

    @Override
    public InputStream getInputStream() {
        return out;
    }

    @Override
    public InputStream getErrorStream() {
        return err;
    }

    @Override
    public int waitFor() {
        return exit.join();
    }

    @Override
    public int exitValue() {
        if (!exit.isDone()) {
            throw new IllegalThreadStateException("it runs");
        }
        return exit.join();
    }

    @Override
    public boolean isAlive() {
        return !exit.isDone();
    }

    @Override
    public void destroy() {
        killed = true;
        exit(KILLED);
    }

    @Override
    public Process destroyForcibly() {
        destroy();
        return this;
    }

    /** Larger than any that there is. */
    @Override
    public long pid() {
        return 1L << 40;
    }

    @Override
    public Stream<ProcessHandle> descendants() {
        return Stream.empty();
    }
}
