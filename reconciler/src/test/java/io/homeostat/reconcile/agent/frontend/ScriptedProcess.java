package io.homeostat.reconcile.agent.frontend;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** A process without a program: a test decides what it prints and how it ends. */
public final class ScriptedProcess extends Process {
    /** No process of this machine has this number. */
    private static final long PID = 9_000_000_000L;

    private static final int KILLED = 137;

    private final Pipe stdout = new Pipe();
    private final Pipe stderr = new Pipe();
    private final Input stdin = new Input();
    private final CompletableFuture<Integer> end = new CompletableFuture<>();
    private final AtomicBoolean killed = new AtomicBoolean();
    private final Runnable onWait;
    private final boolean isScripted;

    /** Runs until {@link #end}. */
    public ScriptedProcess() {
        this.onWait = () -> {};
        this.isScripted = false;
    }

    /**
     * Runs until {@link #end}.
     *
     * @param onWait is called instead of waiting for the end
     */
    public ScriptedProcess(Runnable onWait) {
        this.onWait = onWait;
        this.isScripted = true;
    }

    /** Returns a process that has ended. */
    public static ScriptedProcess ended(int status, String stdout, String stderr) {
        ScriptedProcess process = new ScriptedProcess();
        process.print(stdout);
        process.printError(stderr);
        process.end(status);
        return process;
    }

    public void print(String text) {
        stdout.put(text.getBytes(StandardCharsets.UTF_8));
    }

    public void printError(String text) {
        stderr.put(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Reading the outputs fails after what was printed. */
    public void breakOutputs() {
        stdout.pieces.add(Pipe.BROKEN);
        stderr.pieces.add(Pipe.BROKEN);
    }

    /** Ends with this exit status. */
    public void end(int status) {
        stdout.close();
        stderr.close();
        end.complete(status);
    }

    /** Ends, and leaves a process behind that keeps the outputs open. */
    public void endWithOpenOutputs(int status) {
        end.complete(status);
    }

    public boolean isKilled() {
        return killed.get();
    }

    /** Returns the standard input so far. */
    public String input() {
        return stdin.text();
    }

    public boolean isInputClosed() {
        return stdin.closed.getCount() == 0;
    }

    /** Writes to the standard input block until {@link #readAgain}. */
    public void readNothing() {
        stdin.gate = new CountDownLatch(1);
    }

    public void readAgain() {
        stdin.gate.countDown();
    }

    /** Writes to the standard input fail. */
    public void breakInput() {
        stdin.isBroken = true;
    }

    @Override
    public OutputStream getOutputStream() {
        return stdin;
    }

    @Override
    public InputStream getInputStream() {
        return stdout;
    }

    @Override
    public InputStream getErrorStream() {
        return stderr;
    }

    @Override
    public int waitFor() throws InterruptedException {
        try {
            return end.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
        if (!end.isDone()) {
            onWait.run();
        }
        try {
            end.get(isScripted ? 0 : timeout, unit);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (TimeoutException e) {
            return false;
        }
        return true;
    }

    @Override
    public int exitValue() {
        if (!end.isDone()) {
            throw new IllegalThreadStateException("it runs");
        }
        return end.join();
    }

    @Override
    public boolean isAlive() {
        return !end.isDone();
    }

    @Override
    public void destroy() {
        killed.set(true);
        end(KILLED);
    }

    @Override
    public Process destroyForcibly() {
        destroy();
        return this;
    }

    @Override
    public long pid() {
        return PID;
    }

    @Override
    public Stream<ProcessHandle> descendants() {
        return Stream.empty();
    }

    private static final class Input extends OutputStream {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final CountDownLatch closed = new CountDownLatch(1);
        private volatile CountDownLatch gate = new CountDownLatch(0);
        private volatile boolean isBroken;

        @Override
        public void write(int one) throws IOException {
            if (isBroken || closed.getCount() == 0) {
                throw new IOException("broken pipe");
            }
            try {
                gate.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            synchronized (bytes) {
                bytes.write(one);
            }
        }

        private String text() {
            synchronized (bytes) {
                return bytes.toString(StandardCharsets.UTF_8);
            }
        }

        @Override
        public void close() {
            closed.countDown();
        }
    }

    private static final class Pipe extends InputStream {
        private static final byte[] END = {};
        private static final byte[] BROKEN = new byte[1];

        private final BlockingQueue<byte[]> pieces = new LinkedBlockingQueue<>();
        private byte[] rest = END;

        private void put(byte[] piece) {
            if (piece.length > 0) {
                pieces.add(piece);
            }
        }

        @Override
        public void close() {
            pieces.add(END);
        }

        @Override
        public int available() {
            return rest.length > 0 ? rest.length : pieces.isEmpty() ? 0 : pieces.element().length;
        }

        @Override
        public int read() {
            throw new UnsupportedOperationException("nobody reads single bytes");
        }

        @Override
        @SuppressWarnings("ReferenceEquality") // The marker is this array, whatever others contain.
        public int read(byte[] into, int offset, int length) throws IOException {
            try {
                byte[] piece = rest.length > 0 ? rest : pieces.take();
                if (piece == BROKEN) {
                    throw new IOException("broken");
                }
                if (piece.length == 0) {
                    pieces.add(END);
                    return -1;
                }
                int taken = Math.min(length, piece.length);
                System.arraycopy(piece, 0, into, offset, taken);
                rest = Arrays.copyOfRange(piece, taken, piece.length);
                return taken;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return -1;
            }
        }
    }
}
